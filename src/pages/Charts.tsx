import type { Signal } from "@preact/signals"
import type { Run } from "./Run.ts"
import * as TableView from "./TableView.ts"
import { figure, number } from "./Texts.ts"

interface Props {
  readonly run: Run
  readonly filter: Signal<TableView.Filter>
}

/** Shows how the figures are distributed. A click on a bar filters the result table. */
export const Charts = (props: Props) =>
  props.run.checked === 0 ? null : (
    <div class="charts">
      <Chart {...props} of="domainAuthority" name="Domain authority" />
      <Chart {...props} of="pageAuthority" name="Page authority" />
    </div>
  )

const Chart = ({
  filter,
  name,
  of,
  run,
}: Props & { readonly of: TableView.Figure; readonly name: string }) => {
  const { counts, median } = TableView.distribution(run.rows, of)
  const highest = Math.max(1, ...counts)
  const chosen = filter.value.tenth?.figure === of ? filter.value.tenth.number : undefined
  const choose = (tenth: number) =>
    (filter.value = {
      ...filter.value,
      tenth: chosen === tenth ? undefined : { figure: of, number: tenth },
    })
  return (
    <section class={`card chart ${of}`} aria-labelledby={`${of}-title`}>
      <div class="line">
        <h2 id={`${of}-title`}>{name}</h2>
        {median !== undefined && (
          <p class="hint">
            median <strong>{figure(median)}</strong>
          </p>
        )}
      </div>
      <div class="bars" role="group" aria-label={`${name}: how many addresses in each range`}>
        {counts.map((n, tenth) => (
          <button
            key={tenth}
            type="button"
            disabled={n === 0}
            aria-pressed={chosen === tenth}
            onClick={() => choose(tenth)}
          >
            <span class={n === 0 ? "unseen" : "n"}>{number(n)}</span>
            <span class="unseen"> {n === 1 ? "address" : "addresses"} from </span>
            <span class="column" style={{ height: `${(n / highest) * 100}%` }} />
            <span class="from">{tenth * 10}</span>
            <span class="unseen"> {upTo(tenth)}</span>
          </button>
        ))}
      </div>
      <details>
        <summary>As a table</summary>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{name}</th>
              <th scope="col">Addresses</th>
            </tr>
          </thead>
          <tbody>
            {counts.map((n, tenth) => (
              <tr key={tenth}>
                <th scope="row">
                  {tenth * 10} {upTo(tenth)}
                </th>
                <td>{number(n)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  )
}

// The label of a range's upper end. Only the last range contains its end: 20 is in "20 to below
// 30".
const upTo = (tenth: number) => (tenth === 9 ? "to 100" : `to below ${tenth * 10 + 10}`)
