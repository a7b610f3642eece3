import { useComputed } from "@preact/signals"
import { filter, results } from "./ConsoleState.ts"
import * as TableView from "./TableView.ts"
import { figure, number, share } from "../Texts.ts"

/** Shows how the figures are distributed. A press on a bar filters the result table. */
export const Charts = () =>
  results.value.checked === 0 ? null : (
    <div class="charts">
      {TableView.figures.map((of) => (
        <Chart key={of} of={of} />
      ))}
    </div>
  )

const Chart = ({ of }: { readonly of: TableView.Figure }) => {
  const distribution = useComputed(() => TableView.distribution(results.value.rows, of))
  const { above, counts, median, total } = distribution.value
  if (median === undefined) return null
  const name = TableView.figureNames[of]
  const highest = Math.max(...counts)
  const chosen = filter.value.tenth?.figure === of ? filter.value.tenth.number : undefined
  const choose = (tenth: number) =>
    (filter.value = {
      ...filter.value,
      tenth: chosen === tenth ? undefined : { figure: of, number: tenth },
    })
  return (
    <section class={`chart ${of}`} aria-labelledby={`${of}-title`}>
      <h2 id={`${of}-title`}>{name}</h2>
      <p class="hint">
        median <strong>{figure(median)}</strong> · <strong>{share(above / total)}</strong> above{" "}
        {TableView.limits[of]}
      </p>
      <div class="bars" role="group" aria-label={`${name}: how many addresses in each range`}>
        {counts.map((n, tenth) => (
          <button
            key={tenth}
            type="button"
            class={of === "spamScore" ? TableView.severity(tenth * 10 + 1) : ""}
            disabled={n === 0}
            aria-pressed={chosen === tenth}
            onClick={() => choose(tenth)}
          >
            <span class="tip">
              {number(n)} {n === 1 ? "address" : "addresses"} from {tenth * 10}{" "}
              {tenth === 9 ? "to 100" : `to below ${tenth * 10 + 10}`}
            </span>
            <span class="column" style={{ height: `${(n / highest) * 100}%` }} />
          </button>
        ))}
      </div>
      <div class="scale" aria-hidden="true">
        <span>0</span>
        <span>50</span>
        <span>100</span>
      </div>
    </section>
  )
}
