import { useSignal } from "@preact/signals"
import { activeRun, deleteAll, deleteRun, history, openRun, shown } from "./ConsoleState.ts"
import type { Summary } from "./KeptRun.ts"
import { addresses, count, number } from "./Texts.ts"

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" })

export const History = () =>
  history.value.length === 0 ? null : (
    <section class="card" aria-labelledby="history-title">
      <div class="line">
        <h2 id="history-title">Runs</h2>
        {history.value.length > 1 && (
          <Delete
            name="Delete all"
            question="Delete all results?"
            isDisabled={activeRun.value !== undefined}
            onDelete={() => void deleteAll()}
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
      <Delete
        name="Delete"
        of={`the run of ${when(new Date(summary.startedAt))}, ${summary.name} ${addresses(summary.total)}`}
        question="Delete these results?"
        isDisabled={false}
        onDelete={() => void deleteRun(summary.id)}
      />
    )}
  </li>
)

const Delete = ({
  isDisabled,
  name,
  of,
  onDelete,
  question,
}: {
  readonly name: string
  /** What the button deletes, for screen readers. */
  readonly of?: string
  readonly question: string
  readonly isDisabled: boolean
  readonly onDelete: () => void
}) => {
  const isAsking = useSignal(false)
  const unseen = of === undefined ? null : <span class="unseen"> {of}</span>
  if (!isAsking.value) {
    return (
      <button
        type="button"
        class="quiet small"
        disabled={isDisabled}
        onClick={() => (isAsking.value = true)}
      >
        {name}
        {unseen}
      </button>
    )
  }
  return (
    <span class="ask" role="group" aria-label={question}>
      <span class="hint">{question}</span>
      <button type="button" class="small" ref={focus} onClick={() => (isAsking.value = false)}>
        Keep
      </button>
      <button type="button" class="small danger" disabled={isDisabled} onClick={onDelete}>
        Delete permanently
      </button>
    </span>
  )
}

/** Moves the focus to the button Keep, because the button that had the focus has disappeared. */
const focus = (button: HTMLButtonElement | null) => button?.focus()

const when = (at: Date) =>
  at.toDateString() === new Date().toDateString() ? time.format(at) : date.format(at)

const tally = ({ checked, creditsUsed, failed, name, total }: Summary) =>
  [
    ...(name === "" ? [] : [addresses(total)]),
    `${number(checked)} checked`,
    ...(failed === 0 ? [] : [`${number(failed)} not checked`]),
    ...(checked + failed === total ? [] : [`${number(total - checked - failed)} left`]),
    count(creditsUsed, "credit"),
  ].join(" · ")
