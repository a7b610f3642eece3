import { type Signal, useComputed } from "@preact/signals"
import { results } from "./ConsoleState.ts"
import * as TableView from "./TableView.ts"
import { figure, number, share } from "./Texts.ts"

interface Props {
  readonly filter: Signal<TableView.Filter>
}

/** Shows how the figures are distributed. A click on a bar filters the result table. */
export const Charts = (props: Props) =>
  results.value.checked === 0 ? null : (
    <div class="charts">
      <Chart {...props} of="domainAuthority" name="Domain authority" />
      <Chart {...props} of="pageAuthority" name="Page authority" />
      <Chart {...props} of="spamScore" name="Spam score" />
      <Best {...props} />
      <p class="hint">Square-root scale, so that small counts stay visible.</p>
    </div>
  )

const Chart = ({
  filter,
  name,
  of,
}: Props & { readonly of: TableView.Figure; readonly name: string }) => {
  const distribution = useComputed(() => TableView.distribution(results.value.rows, of))
  const { above, counts, median, total } = distribution.value
  if (median === undefined) return null
  const highest = Math.max(...counts)
  const chosen = filter.value.tenth?.figure === of ? filter.value.tenth.number : undefined
  const choose = (tenth: number) =>
    (filter.value = {
      ...filter.value,
      tenth: chosen === tenth ? undefined : { figure: of, number: tenth },
    })
  return (
    <section class={`card chart ${of}`} aria-labelledby={`${of}-title`}>
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
            <span class="n">{number(n)}</span>
            <span class="unseen"> {n === 1 ? "address" : "addresses"} from </span>
            <span class="range">
              {tenth * 10}
              <span aria-hidden="true">–{tenth * 10 + 10}</span>
            </span>
            <span class="unseen"> {tenth === 9 ? "to 100" : `to below ${tenth * 10 + 10}`}</span>
            <span class="column">
              <span style={{ width: `${Math.sqrt(n / highest) * 100}%` }} />
            </span>
          </button>
        ))}
      </div>
    </section>
  )
}

/** Lists the domains with the highest domain authority. A click shows the domain's addresses. */
const Best = ({ filter }: Props) => {
  const computed = useComputed(() => TableView.best(results.value.rows, 10))
  const best = computed.value
  const show = (domain: string) => (filter.value = { ...TableView.everything, text: domain })
  return (
    <section class="card best domainAuthority" aria-labelledby="best-title">
      <h2 id="best-title">{best.length === 10 ? "Ten best domains" : "Best domains"}</h2>
      <p class="hint">by domain authority</p>
      <ol>
        {best.map(({ authority, domain }) => (
          <li key={domain}>
            <button type="button" onClick={() => show(domain)}>
              <span class="name">{domain}</span> <span class="value">{figure(authority)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}
