import type { PurchaseRow, Reconciliation } from "./AdminApi.ts"
import { isBusy, purchases, reconcile, unread } from "./OperatorState.ts"
import { shortTime } from "./shortTime.ts"
import { Table } from "./Table.tsx"

const amounts = new Intl.NumberFormat("en", { maximumFractionDigits: 6 })

/** What was bought of the vendors, what was sold, and whether the vendors count the same. */
export const Purchases = () => (
  <section class="card" aria-labelledby="purchases-title">
    <div class="line">
      <h2 id="purchases-title">Purchases</h2>
      <button type="button" aria-disabled={isBusy.value} onClick={() => void reconcile()}>
        Compare with vendors
      </button>
    </div>
    <div role="status">
      {unread.value.map(({ provider, reason }) => (
        <p class="hint" key={provider}>
          {provider}: {reason}
        </p>
      ))}
    </div>
    {purchases.value.rows.length === 0 ? (
      <p class="hint">Nothing was bought or sold in the last 30 days.</p>
    ) : (
      <Days rows={purchases.value.rows.toReversed()} />
    )}
    {purchases.value.reconciliations.length > 0 && (
      <Comparisons all={purchases.value.reconciliations.toReversed()} />
    )}
  </section>
)

const Days = ({ rows }: { readonly rows: ReadonlyArray<PurchaseRow> }) => (
  <Table
    label="Purchases by UTC day, newest first"
    titles={["Day", "Provider", ...sums]}
    numbers={sums}
  >
    {rows.map((row) => (
      <tr key={`${row.day} ${row.provider}`}>
        <td class="when">{row.day}</td>
        <th scope="row">{row.provider ?? "all providers"}</th>
        <Numbers
          of={[
            row.calls,
            row.rowsBought,
            row.cost,
            row.unknown,
            row.answeredFromCache,
            row.creditsCharged,
          ]}
        />
      </tr>
    ))}
  </Table>
)

const sums = ["Calls", "Rows", "Cost", "No answer", "From cache", "Credits charged"]

const Comparisons = ({ all }: { readonly all: ReadonlyArray<Reconciliation> }) => (
  <>
    <h3>Compared with the vendors' own counts</h3>
    <Table
      label="Comparisons, newest first"
      titles={["Until", "Provider", "Unit", ...counts]}
      numbers={counts}
    >
      {all.map(({ computed, difference, provider, reported, unit, unknown, until }) => (
        <tr key={`${until} ${provider}`}>
          <td class="when">{shortTime(until)}</td>
          <th scope="row">
            {provider}
            {difference !== 0 && <span class="badge">differs</span>}
          </th>
          <td>{unit}</td>
          <Numbers of={[reported, computed, unknown, difference]} />
        </tr>
      ))}
    </Table>
  </>
)

const counts = ["Vendor", "Purchases", "No answer, at most", "Difference"]

const Numbers = ({ of }: { readonly of: ReadonlyArray<number | null> }) => (
  <>
    {of.map((cell, i) => (
      <td key={i} class="num">
        {cell === null ? "" : amounts.format(cell)}
      </td>
    ))}
  </>
)
