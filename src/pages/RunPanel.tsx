import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { Delay } from "../run/Run.ts"
import { counted } from "../text/counted.ts"
import { Charts } from "./Charts.tsx"
import {
  activeRun,
  check,
  goOn,
  hasSyntheticFigures,
  markExported,
  question,
  rename,
} from "./ConsoleState.ts"
import { csv, json, tsv } from "./Export.ts"
import { focusKeyField } from "./KeyPanel.tsx"
import type { ListRun } from "./ListRun.ts"
import { Asking, Found } from "./PlanPanel.tsx"
import { ResultTable } from "./ResultTable.tsx"
import { isWorthRetrying, type Row } from "./Row.ts"
import * as TableView from "./TableView.ts"
import { addresses, atMost, halted, number, remaining, standing, untilRetry } from "./Texts.ts"

export const RunPanel = ({ run }: { readonly run: ListRun }) => {
  const filter = useSignal(TableView.everything)
  const sorting = useSignal<TableView.Sorting>({ by: "place", descending: false })
  const rows = useComputed(() => TableView.select(run, filter.value, sorting.value))
  return (
    <>
      <Progress run={run} />
      <Charts run={run} filter={filter} />
      <ResultTable run={run} rows={rows} filter={filter} sorting={sorting}>
        <Exports run={run} rows={rows} isAll={TableView.isEverything(filter.value)} />
      </ResultTable>
    </>
  )
}

const Exports = ({
  isAll,
  rows,
  run,
}: {
  readonly run: ListRun
  readonly rows: ReadonlySignal<ReadonlyArray<Row>>
  readonly isAll: boolean
}) => {
  const outcome = useSignal("")
  const which = isAll ? "all" : `these ${number(rows.value.length)}`
  const results = () => ({ rows: rows.value, own: run.list.own })
  const copy = async () => {
    outcome.value = (await copyText(tsv(results())))
      ? `Copied ${addresses(rows.value.length)}.`
      : "The browser does not allow copying. Export a file instead."
  }
  const save = (text: string, type: "csv" | "json") => {
    download(text, type, run.startedAt)
    outcome.value = ""
    if (rows.value.length === run.total) markExported(run)
  }
  const isEmpty = rows.value.length === 0
  const kind = run.status === "done" ? "primary" : ""
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
        onClick={() => save(csv(results()), "csv")}
      >
        <span class="unseen">Export {which} as </span>CSV
      </button>
      <button type="button" disabled={isEmpty} onClick={() => save(json(results()), "json")}>
        <span class="unseen">Export {which} as </span>JSON
      </button>
    </div>
  )
}

const download = (text: string, type: "csv" | "json", at: Date) => {
  const mediaType = type === "csv" ? "text/csv" : "application/json"
  const url = URL.createObjectURL(new Blob([text], { type: `${mediaType};charset=utf-8` }))
  const link = document.createElement("a")
  link.href = url
  link.download = `authority${hasSyntheticFigures ? "-synthetic" : ""}-${at.toISOString().slice(0, 10)}.${type}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
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

const Progress = ({ run }: { readonly run: ListRun }) => {
  const { total } = run
  const ended = run.checked + run.failed
  return (
    <section class="card progress" aria-labelledby="run-title">
      <div class="line">
        <h2 id="run-title">{standing(run)}</h2>
        <input
          class="name"
          aria-label="Name of the run"
          placeholder="Name this run"
          value={run.name}
          onChange={(event) => rename(run, event.currentTarget.value.trim())}
        />
        {run.status === "running" && run.secondsLeft !== undefined && (
          <p class="hint pace">{remaining(run.secondsLeft)}</p>
        )}
        <Controls run={run} />
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
        <span class="done" style={{ width: `${(run.checked / total) * 100}%` }} />
        <span class="lost" style={{ width: `${(run.failed / total) * 100}%` }} />
      </div>
      <dl class="tally">
        <Count name="Checked" n={run.checked} kind="done" />
        <Count name="Not checked" n={run.failed} kind="lost" />
        <Count name="Left" n={run.waiting} kind="left" />
        <Count name="Credits used" n={run.creditsUsed} />
      </dl>
      {question.value?.run === run && <Asking {...question.value} />}
      <Found run={run} />
      <Notices run={run} />
      <p class="unseen" role="status">
        {announcement(run)}
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
const announcement = (run: ListRun) => {
  if (!run.isActive) return `${standing(run)}. ${counted(run.creditsUsed, "credit")} used.`
  const quarters = Math.floor(((run.checked + run.failed) / run.total) * 4)
  return `${standing(run)}. ${quarters * 25} percent of the addresses are processed.`
}

const Controls = ({ run }: { readonly run: ListRun }) => {
  if (run.isActive) {
    return (
      <button type="button" onClick={() => run.stop()}>
        {run.status === "stopping" ? "Stop now" : "Stop"}
      </button>
    )
  }
  if (run.status === "asking") return null
  return run.status === "done" ? <After run={run} /> : <Continue run={run} />
}

const Continue = ({ run }: { readonly run: ListRun }) => (
  <button
    type="button"
    class="primary"
    disabled={activeRun.value !== undefined}
    onClick={async () => (await goOn(run)) || focusKeyField()}
  >
    Continue
  </button>
)

/** What can be done with a finished list. To check all of it again is a new run. */
const After = ({ run }: { readonly run: ListRun }) => {
  const failed = run.rows.filter(isWorthRetrying).length
  const isDisabled = activeRun.value !== undefined
  return (
    <div class="actions">
      <button
        type="button"
        class="quiet"
        disabled={isDisabled}
        onClick={async () =>
          (await check({ ...run.list, name: run.name }, { isAnew: true })) || focusKeyField()
        }
      >
        Check again, {atMost(run.priceOfAll)}
      </button>
      {failed > 0 && (
        <button
          type="button"
          disabled={isDisabled}
          onClick={async () => (await goOn(run, { isRetry: true })) || focusKeyField()}
        >
          Retry {failed === 1 ? "the failed address" : `the ${number(failed)} failed addresses`}
        </button>
      )}
    </div>
  )
}

const Notices = ({ run }: { readonly run: ListRun }) => {
  const { halt } = run
  const notice = halt === undefined || run.isActive ? undefined : halted(halt, run)
  return (
    <>
      {run.delay !== undefined && run.isActive && <Waiting delay={run.delay} />}
      {run.givenUp.targets > 0 && (
        <p class="hint">
          {addresses(run.givenUp.targets)} {run.givenUp.targets === 1 ? "was" : "were"} checked anew
          because the answers were lost. The lost answers may have cost up to{" "}
          {counted(run.givenUp.credits ?? 0, "credit")} more; the account's statement shows it.
        </p>
      )}
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
