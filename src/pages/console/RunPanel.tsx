import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import type { Delay } from "../../lists/Run.ts"
import { counted } from "../../contract/counted.ts"
import { Charts } from "./Charts.tsx"
import {
  type Check,
  check,
  creditsUsed,
  delay,
  filter,
  goOn,
  hasSyntheticFigures,
  isActive,
  problem,
  question,
  results,
  secondsLeft,
  selected,
  sorting,
  status,
  stop,
} from "./ConsoleState.ts"
import { download } from "../Parts.tsx"
import { csv, json, tsv } from "./Export.ts"
import { focusKeyField } from "./KeyPanel.tsx"
import { isEditing } from "./ListPanel.tsx"
import { Asking, Found } from "./PlanPanel.tsx"
import { ResultTable } from "./ResultTable.tsx"
import { isWorthRetrying } from "./Row.ts"
import * as TableView from "./TableView.ts"
import { addresses, halted, number, remaining, standing, untilRetry } from "../Texts.ts"

interface Props {
  readonly shown: Check
  /** Shown between the title row and the results. */
  readonly children: ComponentChildren
}

export const RunPanel = ({ children, shown }: Props) => (
  <>
    <div class="top">
      <Title shown={shown} />
      <Exports shown={shown} />
      <div class="actions">
        <button
          type="button"
          aria-expanded={isEditing.value}
          onClick={() => (isEditing.value = !isEditing.value)}
        >
          {isEditing.value ? "Fold list" : "Edit list"}
        </button>
        <Controls shown={shown} />
      </div>
      <Progress />
    </div>
    {children}
    <State shown={shown} />
    <Charts />
    <ResultTable own={shown.list.own} />
  </>
)

const Title = ({ shown }: { readonly shown: Check }) => {
  const { checked, failed, waiting } = results.value
  return (
    <div class="run-title">
      <h1 title={shown.list.name}>{shown.list.name}</h1>
      <h2 id="run-title" class={status.value} tabIndex={-1}>
        {standing(status.value, results.value)}
      </h2>
      {secondsLeft.value !== undefined && <p class="hint">{remaining(secondsLeft.value)}</p>}
      <dl class="tally">
        <Count name="checked" n={checked} kind="done" />
        <Count name="not checked" n={failed} kind="lost" />
        <Count name="left" n={waiting} kind="left" />
        <Count
          name={creditsUsed.value === 1 ? "credit used" : "credits used"}
          n={creditsUsed.value}
        />
      </dl>
      <p class="unseen" role="status">
        {announcement()}
      </p>
    </div>
  )
}

const Exports = ({ shown }: { readonly shown: Check }) => {
  const rows = selected.value
  const outcome = useSignal("")
  const which = TableView.isEverything(filter.value) ? "all" : `these ${number(rows.length)}`
  // Until the user sorts the table, the rows are exported in the order of the list.
  const chosen = () => ({
    rows:
      sorting.value === TableView.usualSorting ? rows.toSorted((a, b) => a.place - b.place) : rows,
    own: shown.list.own,
  })
  const copy = async () => {
    outcome.value = (await copyText(tsv(chosen())))
      ? `Copied ${addresses(rows.length)}.`
      : "The browser does not allow copying. Export a file instead."
  }
  const exportAs = (text: string, type: "csv" | "json") => {
    download(text, type, { at: new Date(shown.startedAt), isSynthetic: hasSyntheticFigures })
    outcome.value = ""
  }
  const isEmpty = rows.length === 0
  const isEnd = status.value === "done" && !isEditing.value
  return (
    <div class="actions" role="group" aria-label="Export">
      <span class="hint" role="status">
        {outcome.value}
      </span>
      <button type="button" disabled={isEmpty} onClick={() => void copy()}>
        Copy {which}
      </button>
      <button type="button" disabled={isEmpty} onClick={() => exportAs(json(chosen()), "json")}>
        <span class="unseen">Export {which} as </span>JSON
      </button>
      <button
        type="button"
        class={isEnd ? "primary" : ""}
        disabled={isEmpty}
        onClick={() => exportAs(csv(chosen()), "csv")}
      >
        <span class="unseen">Export {which} as </span>CSV
      </button>
    </div>
  )
}

// Copies a text. Returns false if the browser refuses. Pages without HTTPS have no `clipboard`, so
// `execCommand` is the fallback.
const copyText = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelection(text)
  }
}

const copySelection = (text: string): boolean => {
  const focused = document.activeElement
  const field = document.createElement("textarea")
  field.value = text
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand("copy")
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}

const Progress = () => {
  const { checked, failed, total } = results.value
  const ended = checked + failed
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label="Progress of the run"
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={ended}
      aria-valuetext={`${number(ended)} of ${number(total)}`}
    >
      <span class="done" style={{ width: `${(checked / total) * 100}%` }} />
      <span class="lost" style={{ width: `${(failed / total) * 100}%` }} />
    </div>
  )
}

/** Shows what the plan found, what it asks, and why the run waits or has stopped. */
const State = ({ shown }: { readonly shown: Check }) => (
  <section class="state" aria-labelledby="run-title">
    {question.value !== undefined && shown.plan !== undefined && (
      <Asking plan={shown.plan} reasons={question.value} />
    )}
    <Notices run={shown.run} />
    <Found />
  </section>
)

const Count = ({
  kind,
  n,
  name,
}: {
  readonly name: string
  readonly n: number
  readonly kind?: "done" | "lost" | "left"
}) => (
  <div class={kind}>
    <dd>{number(n)}</dd> <dt>{name}</dt>
  </div>
)

/** The text for screen readers. It changes only after each quarter of the run and at the end. */
const announcement = () => {
  const { checked, failed, total } = results.value
  const standingNow = standing(status.value, results.value)
  if (!isActive.value) return `${standingNow}. ${counted(creditsUsed.value, "credit")} used.`
  const quarters = Math.floor(((checked + failed) / total) * 4)
  return `${standingNow}. ${quarters * 25} percent of the addresses are processed.`
}

const Controls = ({ shown }: { readonly shown: Check }) => {
  if (isActive.value) {
    return (
      <button type="button" onClick={stop}>
        {status.value === "stopping" ? "Stop now" : "Stop"}
      </button>
    )
  }
  if (status.value === "asking") return null
  return status.value === "done" ? <After shown={shown} /> : <Continue />
}

const Continue = () => (
  <button type="button" class="primary" onClick={async () => (await goOn()) || focusKeyField()}>
    Continue
  </button>
)

/** The buttons for a finished list. */
const After = ({ shown: { list } }: { readonly shown: Check }) => {
  const failed = results.value.rows.filter(isWorthRetrying).length
  return (
    <>
      <button
        type="button"
        class="quiet"
        onClick={async () => (await check(list, { freshness: "none" })) || focusKeyField()}
      >
        Check all anew
      </button>
      {failed > 0 && (
        <button type="button" onClick={async () => (await goOn()) || focusKeyField()}>
          Retry {failed === 1 ? "the failed address" : `the ${number(failed)} failed addresses`}
        </button>
      )}
    </>
  )
}

const Notices = ({ run }: Pick<Check, "run">) => {
  const notice =
    problem.value === undefined ? undefined : halted(problem.value, results.value.waiting, run)
  return (
    <>
      {delay.value !== undefined && isActive.value && <Waiting delay={delay.value} />}
      <div role="alert">
        {notice !== undefined && (
          <p class="notice stop">
            <strong>{notice.title}.</strong> {notice.text}
          </p>
        )}
      </div>
    </>
  )
}

// Says why the run waits, and counts the seconds. The countdown has the role `timer`, which screen
// readers do not read at each change.
const Waiting = ({ delay }: { readonly delay: Delay }) => {
  const now = useSignal(Date.now())
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 250)
    return () => clearInterval(timer)
  }, [])
  return (
    <p class="notice">
      <span role="status">{delay.error.message}</span>{" "}
      <span role="timer">{untilRetry(delay, now.value)}</span>
    </p>
  )
}
