import { useComputed, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Charts } from "./Charts.tsx"
import { csv } from "./Export.ts"
import { keyFieldId } from "./KeyPanel.tsx"
import { ResultTable } from "./ResultTable.tsx"
import type { Delay, Row, Run } from "./Run.ts"
import * as TableView from "./TableView.ts"
import { activeRun, check, goOn, hasSyntheticFigures, markExported } from "./ConsoleState.ts"
import {
  count,
  delayed,
  halted,
  isWorthRetrying,
  number,
  remaining,
  standing,
  untilRetry,
} from "./Texts.ts"

export const RunPanel = ({ run }: { readonly run: Run }) => {
  const filter = useSignal(TableView.everything)
  const sorting = useSignal<TableView.Sorting>({ by: "place", descending: false })
  const rows = useComputed(() => TableView.select(run, filter.value, sorting.value))
  return (
    <>
      <Progress run={run} />
      <Charts run={run} filter={filter} />
      <ResultTable run={run} rows={rows} filter={filter} sorting={sorting}>
        <button
          type="button"
          disabled={rows.value.length === 0}
          onClick={() => save(run, rows.value)}
        >
          Export{" "}
          {TableView.isEverything(filter.value) ? "all" : `these ${number(rows.value.length)}`} as
          CSV
        </button>
      </ResultTable>
    </>
  )
}

const save = (run: Run, rows: ReadonlyArray<Row>) => {
  const url = URL.createObjectURL(new Blob([csv(rows)], { type: "text/csv;charset=utf-8" }))
  const link = document.createElement("a")
  const date = run.startedAt.toISOString().slice(0, 10)
  link.href = url
  link.download = `authority${hasSyntheticFigures ? "-synthetic" : ""}-${date}.csv`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
  if (rows.length === run.rows.length) markExported(run)
}

const Progress = ({ run }: { readonly run: Run }) => {
  const total = run.rows.length
  const ended = run.checked + run.failed
  return (
    <section class="card progress" aria-labelledby="run-title">
      <div class="line">
        <h2 id="run-title">{standing(run)}</h2>
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

/** The text for screen readers. It changes only at each quarter and at the end. */
const announcement = (run: Run) => {
  if (!run.isActive) return `${standing(run)}. ${count(run.creditsUsed, "credit")} used.`
  const quarters = Math.floor(((run.checked + run.failed) / run.rows.length) * 4)
  return `${standing(run)}. ${quarters * 25} percent.`
}

const Controls = ({ run }: { readonly run: Run }) => {
  if (run.isActive) {
    return (
      <button type="button" onClick={() => run.stop()}>
        {run.status === "stopping" ? "Stop now" : "Stop"}
      </button>
    )
  }
  if (run.status !== "done") {
    return (
      <button
        type="button"
        class="primary"
        disabled={activeRun.value !== undefined}
        onClick={() => {
          if (!goOn(run)) document.getElementById(keyFieldId)?.focus()
        }}
      >
        Continue
      </button>
    )
  }
  const again = run.rows.filter(({ reason }) => reason !== undefined && isWorthRetrying(reason))
  return again.length === 0 ? null : (
    <button
      type="button"
      disabled={activeRun.value !== undefined}
      onClick={() => {
        if (!check(again.map(({ url }) => url))) document.getElementById(keyFieldId)?.focus()
      }}
    >
      Retry{" "}
      {again.length === 1 ? "the failed address" : `the ${number(again.length)} failed addresses`}
    </button>
  )
}

const Notices = ({ run }: { readonly run: Run }) => {
  const notice = run.halt !== undefined && !run.isActive ? halted(run.halt, run) : undefined
  return (
    <>
      {run.delay !== undefined && run.isActive && <Waiting delay={run.delay} />}
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

/** The reason is read aloud once, and not the countdown, which changes every second. */
const Waiting = ({ delay }: { readonly delay: Delay }) => {
  const now = useSignal(Date.now())
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 250)
    return () => clearInterval(timer)
  }, [])
  return (
    <p class="notice">
      <span role="status">{delayed(delay)}</span>{" "}
      <span role="timer">{untilRetry(delay, now.value)}</span>
    </p>
  )
}
