import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { Delay } from "../lists/Run.ts"
import { counted } from "../text/counted.ts"
import { Charts } from "./Charts.tsx"
import {
  type Check,
  check,
  creditsUsed,
  delay,
  goOn,
  hasSyntheticFigures,
  isActive,
  problem,
  question,
  results,
  secondsLeft,
  status,
  stop,
} from "./ConsoleState.ts"
import { download } from "./download.ts"
import { csv, json, tsv } from "./Export.ts"
import { focusKeyField } from "./KeyPanel.tsx"
import { Asking, Found } from "./PlanPanel.tsx"
import { ResultTable } from "./ResultTable.tsx"
import { isWorthRetrying, type Row } from "./Row.ts"
import * as TableView from "./TableView.ts"
import { addresses, halted, number, remaining, standing, untilRetry } from "./Texts.ts"

export const RunPanel = ({ shown }: { readonly shown: Check }) => {
  const filter = useSignal(TableView.everything)
  const sorting = useSignal<TableView.Sorting>({ by: "place", descending: false })
  const rows = useComputed(() => TableView.select(results.value, filter.value, sorting.value))
  return (
    <>
      <Progress shown={shown} />
      <Charts filter={filter} />
      <ResultTable own={shown.list.own} rows={rows} filter={filter} sorting={sorting}>
        <Exports shown={shown} rows={rows} isAll={TableView.isEverything(filter.value)} />
      </ResultTable>
    </>
  )
}

const Exports = ({
  isAll,
  rows,
  shown,
}: {
  readonly shown: Check
  readonly rows: ReadonlySignal<ReadonlyArray<Row>>
  readonly isAll: boolean
}) => {
  const outcome = useSignal("")
  const which = isAll ? "all" : `these ${number(rows.value.length)}`
  const chosen = () => ({ rows: rows.value, own: shown.list.own })
  const copy = async () => {
    outcome.value = (await copyText(tsv(chosen())))
      ? `Copied ${addresses(rows.value.length)}.`
      : "The browser does not allow copying. Export a file instead."
  }
  const exportAs = (text: string, type: "csv" | "json") => {
    download(text, type, { at: new Date(shown.startedAt), isSynthetic: hasSyntheticFigures })
    outcome.value = ""
  }
  const isEmpty = rows.value.length === 0
  const kind = status.value === "done" ? "primary" : ""
  return (
    <div class="actions exports" role="group" aria-label="Export">
      <span class="hint" role="status">
        {outcome.value}
      </span>
      <button type="button" disabled={isEmpty} onClick={() => void copy()}>
        Copy {which}
      </button>
      <button
        type="button"
        class={kind}
        disabled={isEmpty}
        onClick={() => exportAs(csv(chosen()), "csv")}
      >
        <span class="unseen">Export {which} as </span>CSV
      </button>
      <button type="button" disabled={isEmpty} onClick={() => exportAs(json(chosen()), "json")}>
        <span class="unseen">Export {which} as </span>JSON
      </button>
    </div>
  )
}

// Copies a text. Returns false when the browser refuses. Pages without HTTPS have no `clipboard`,
// so the fallback is `execCommand`.
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

const Progress = ({ shown }: { readonly shown: Check }) => {
  const { checked, failed, total, waiting } = results.value
  const ended = checked + failed
  return (
    <section class="card progress" aria-labelledby="run-title">
      <div class="line">
        <h2 id="run-title">{standing(status.value, results.value)}</h2>
        {secondsLeft.value !== undefined && <p class="hint pace">{remaining(secondsLeft.value)}</p>}
        <Controls shown={shown} />
      </div>
      <div
        class="bar"
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
      <dl class="tally">
        <Count name="Checked" n={checked} kind="done" />
        <Count name="Not checked" n={failed} kind="lost" />
        <Count name="Left" n={waiting} kind="left" />
        <Count name="Credits used" n={creditsUsed.value} />
      </dl>
      {question.value !== undefined && shown.plan !== undefined && (
        <Asking plan={shown.plan} reasons={question.value} />
      )}
      <Found />
      <Notices run={shown.run} />
      <p class="unseen" role="status">
        {announcement()}
      </p>
    </section>
  )
}

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
    <dt>{name}</dt>
    <dd>{number(n)}</dd>
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

/** What can be done with a finished list. */
const After = ({ shown: { list } }: { readonly shown: Check }) => {
  const failed = results.value.rows.filter(isWorthRetrying).length
  return (
    <div class="actions">
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
    </div>
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
