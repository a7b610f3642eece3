import type { CostRow, VendorCount } from "./AdminApi.ts"
import { costs, isBusy, reconcile } from "./OperatorState.ts"
import { Table } from "./Table.tsx"

const amounts = new Intl.NumberFormat("en", { maximumFractionDigits: 6 })

/** What calls to the vendors cost, what was sold, and what the vendors count. */
export const Costs = () => (
  <section class="card" aria-labelledby="costs-title">
    <div class="line">
      <h2 id="costs-title">What calls cost</h2>
      <button type="button" aria-disabled={isBusy.value} onClick={() => void reconcile()}>
        Compare with vendors
      </button>
    </div>
    {costs.value.rows.length === 0 ? (
      <p class="hint">Nothing was bought or sold in the last 30 days.</p>
    ) : (
      <Days rows={costs.value.rows.toReversed()} />
    )}
    <div role="status">
      {costs.value.counts !== undefined && <Counts all={costs.value.counts} />}
    </div>
  </section>
)

const Days = ({ rows }: { readonly rows: ReadonlyArray<CostRow> }) => (
  <Table
    label="Costs by UTC day, newest first"
    titles={["Day", "Provider", ...sums]}
    numbers={sums}
  >
    {rows.map((row) => (
      <tr key={`${row.day} ${row.provider}`}>
        <td class="when">{row.day}</td>
        <th scope="row">{row.provider ?? "all providers"}</th>
        <Numbers
          of={
            row.provider === null
              ? [null, null, null, null, null, row.answeredFromCache, row.creditsCharged]
              : [row.calls, row.rows, row.cost, row.failed, row.unanswered, null, null]
          }
        />
      </tr>
    ))}
  </Table>
)

const sums = ["Calls", "Rows", "Cost", "Failed", "No answer", "From cache", "Credits charged"]

const Counts = ({ all }: { readonly all: ReadonlyArray<VendorCount> }) => (
  <>
    <h3>Beside the vendors' own counts</h3>
    <Table
      label="This month, and what the vendors count"
      titles={["Provider", ...counts, "Unit"]}
      numbers={counts}
    >
      {all.map(({ error, month, provider, quota }) => (
        <tr key={provider}>
          <th scope="row">{provider}</th>
          <Numbers
            of={[
              month.rows,
              month.cost,
              month.unanswered,
              quota && quota.allotted - quota.left,
              quota && quota.left,
            ]}
          />
          <td>{quota?.unit ?? error ?? "no count"}</td>
        </tr>
      ))}
    </Table>
  </>
)

const counts = ["Rows this month", "Cost", "No answer", "Used at the vendor", "Left"]

const Numbers = ({ of }: { readonly of: ReadonlyArray<number | null> }) => (
  <>
    {of.map((cell, i) => (
      <td key={i} class="num">
        {cell === null ? "" : amounts.format(cell)}
      </td>
    ))}
  </>
)
