import { computed } from "@preact/signals"
import { counted } from "../text/counted.ts"
import { Ask } from "./Ask.tsx"
import { activeRun, deleteAll, deleteRun, history, openRun, shown } from "./ConsoleState.ts"
import type { Summary } from "./KeptRun.ts"
import { addresses, number } from "./Texts.ts"

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" })

const isRunning = computed(() => activeRun.value !== undefined)

export const History = () =>
  history.value.length === 0 ? null : (
    <section class="card" aria-labelledby="history-title">
      <div class="line">
        <h2 id="history-title">Runs</h2>
        {history.value.length > 1 && (
          <Ask
            name="Delete all"
            question="Delete all results?"
            act="Delete permanently"
            isDisabled={isRunning}
            onAct={() => void deleteAll()}
          />
        )}
      </div>
      <ol class="runs">
        {history.value.map((summary) => (
          <Entry key={summary.id} summary={summary} />
        ))}
      </ol>
      <p class="hint">The results are kept in this browser until you delete them.</p>
    </section>
  )

const Entry = ({ summary }: { readonly summary: Summary }) => (
  <li>
    <button
      type="button"
      class="run"
      aria-current={summary.id === shown.value?.id}
      onClick={() => void openRun(summary.id)}
    >
      <span class="when">{when(new Date(summary.startedAt))}</span>
      <strong>{summary.name === "" ? addresses(summary.total) : summary.name}</strong>
      <span class="sub">{tally(summary)}</span>
    </button>
    {summary.id !== activeRun.value?.id && (
      <Ask
        name="Delete"
        of={`the run of ${when(new Date(summary.startedAt))}, ${summary.name} ${addresses(summary.total)}`}
        question="Delete these results?"
        act="Delete permanently"
        onAct={() => void deleteRun(summary.id)}
      />
    )}
  </li>
)

const when = (at: Date) =>
  at.toDateString() === new Date().toDateString() ? time.format(at) : date.format(at)

const tally = ({ checked, creditsUsed, failed, name, total }: Summary) =>
  [
    ...(name === "" ? [] : [addresses(total)]),
    `${number(checked)} checked`,
    ...(failed === 0 ? [] : [`${number(failed)} not checked`]),
    ...(checked + failed === total ? [] : [`${number(total - checked - failed)} left`]),
    counted(creditsUsed, "credit"),
  ].join(" · ")
