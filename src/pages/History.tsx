import { runs, shown } from "./ConsoleState.ts"
import { addresses, count, number } from "./Texts.ts"
import type { Run } from "./Run.ts"

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })

export const History = () => {
  if (runs.value.length === 0) return null
  return (
    <section class="card" aria-labelledby="history-title">
      <h2 id="history-title">Runs of this visit</h2>
      <ol class="runs">
        {runs.value.map((run) => (
          <li key={run.startedAt}>
            <button
              type="button"
              class="run"
              aria-current={run === shown.value}
              onClick={() => (shown.value = run)}
            >
              <span class="when">{time.format(run.startedAt)}</span>
              <strong>{addresses(run.rows.length)}</strong>
              <span class="sub">{summary(run)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}

const summary = (run: Run) =>
  [
    `${number(run.checked)} checked`,
    ...(run.failed === 0 ? [] : [`${number(run.failed)} not checked`]),
    ...(run.waiting === 0 ? [] : [`${number(run.waiting)} left`]),
    count(run.creditsUsed, "credit"),
  ].join(" · ")
