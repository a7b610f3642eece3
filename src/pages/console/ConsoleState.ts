/** The console's check: a list, and the run that checks it with this browser's stored answers. */
import { batch, computed, effect, signal } from "@preact/signals"
import { isClientError } from "../../client/PromiseClient.ts"
import { memoryAnswers } from "../../lists/Answers.ts"
import type { Plan } from "../../lists/Plan.ts"
import { type Delay, type Connect, type PlanOptions, Run } from "../../lists/Run.ts"
import {
  account,
  base,
  client,
  currentKey,
  forgetKey,
  key,
  refreshCredits,
  refuseKey,
  spend,
} from "../Account.ts"
import * as LocalSettings from "../LocalSettings.ts"
import * as IndexedDbAnswers from "../answers/IndexedDbAnswers.ts"
import * as OldRuns from "../answers/OldRuns.ts"
import * as Row from "./Row.ts"
import * as TableView from "./TableView.ts"
import type { UrlList } from "../answers/UrlList.ts"

export const hasSyntheticFigures = document.documentElement.dataset["figures"] === "synthetic"

const limitPlace = `authority-limit${base}`

/** The console asks before a check that may cost more credits than this. */
export const limit = signal(Number(LocalSettings.read(limitPlace) ?? "500") || 0)
effect(() => LocalSettings.keep(limitPlace, String(limit.value)))

/** The stored answers that may be used: those of 30 days, those of one day, or none. */
export const freshnesses = {
  month: {},
  day: { maxAgeMs: 24 * 60 * 60 * 1000 },
  none: { isAgain: true },
} as const satisfies Record<string, PlanOptions>
export type Freshness = keyof typeof freshnesses

/** A list and its latest run. Each start makes a new run, with the key entered at that time. */
export interface Check {
  readonly list: UrlList & { readonly name: string }
  readonly startedAt: number
  readonly freshness: Freshness
  readonly key: string
  readonly account: string | undefined
  readonly run: Run
  /** Undefined until the first plan is ready. */
  readonly plan?: Plan
  /** When the run began to send. */
  readonly sentAt?: number
  /** The credits that earlier runs of the list used. */
  readonly creditsBefore: number
  /** True if the user must see the plan before anything is paid. */
  readonly isWanted: boolean
}

/** Why the console asks before it pays. `wanted`: the user wants to see the plan. */
export type Reason = "wanted" | "doubtful" | "limit" | "balance"

export const shown = signal<Check | undefined>(undefined)
/** How many URLs the service has previewed, and how many it has to preview. */
export const planning = signal<
  { readonly done: number; readonly all: number; readonly delay?: Delay } | undefined
>(undefined)
/** What the plan asks the user; undefined if it asks nothing. */
export const question = signal<ReadonlyArray<Reason> | undefined>(undefined)
/** The error that ended the plan or the run. */
export const problem = signal<unknown>(undefined)

/** Changes with the run, so code that reads the run must also read this signal. */
const changes = signal(0)

export const status = computed(() => {
  void changes.value
  if (planning.value !== undefined) return "planning"
  if (question.value !== undefined) return "asking"
  const run = shown.value?.run
  if (run?.isActive === true) return run.status
  return results.value.waiting === 0 ? "done" : "stopped"
})

export const isActive = computed(() => ["planning", "running", "stopping"].includes(status.value))

/** The rows of the list, and how many of them have been checked and have failed. */
export const results = computed(() => {
  void changes.value
  const rows = shown.value === undefined ? [] : Row.rowsOf(shown.value.list.items, shown.value.run)
  const checked = rows.filter(({ figures }) => figures !== undefined).length
  const waiting = rows.filter(Row.isWaiting).length
  return { rows, checked, waiting, failed: rows.length - checked - waiting, total: rows.length }
})

export const filter = signal(TableView.everything)
export const sorting = signal(TableView.usualSorting)
export const selected = computed(() => TableView.select(results.value, filter.value, sorting.value))
const list = computed(() => shown.value?.list)
effect(() => {
  void list.value
  filter.value = TableView.everything
  sorting.value = TableView.usualSorting
})

/** What the account has paid for the list since the page was loaded. */
export const creditsUsed = computed(() => {
  void changes.value
  const { creditsBefore = 0, run } = shown.value ?? {}
  return creditsBefore + (run?.creditsUsed ?? 0)
})

/** Of all requests that wait for a retry, the delay that ends last. */
export const delay = computed(() => {
  void changes.value
  return planning.value === undefined ? shown.value?.run.delay : planning.value.delay
})

/** The seconds until the run is done, estimated from its speed; undefined while it is unknown. */
export const secondsLeft = computed(() => {
  void changes.value
  const { plan, run, sentAt } = shown.value ?? {}
  if (status.value !== "running" || plan === undefined || sentAt === undefined) return undefined
  const { answered, targets } = run?.progress ?? { answered: 0, targets: 0 }
  const ended = answered - plan.answered
  if (ended <= 0 || delay.value !== undefined) return undefined
  return (((Date.now() - sentAt) / ended) * (targets - answered)) / 1000
})

const longList = 20_000
let redraw: ReturnType<typeof setTimeout> | undefined

/** Redraws at most every 150 ms, or every second for a long list, which is slow to sort. */
const change = () => {
  const isLong = (shown.value?.list.items.length ?? 0) > longList
  redraw ??= setTimeout(() => ((redraw = undefined), changes.value++), isLong ? 1000 : 150)
}

/** True if the list has the outcomes of its last check. */
export const isChecked = ({ items }: UrlList): boolean =>
  status.value === "done" && shown.value?.list.items === items

/** True if the browser cannot store answers. */
export const isUnkept = signal(false)
addEventListener("beforeunload", (event) => {
  if (isUnkept.value && results.value.checked > 0) event.preventDefault()
})

const answers = IndexedDbAnswers.open(`authority-answers${base}`).catch(() => {
  isUnkept.value = true
  return { ...memoryAnswers(), clear: async () => {} }
})

// A second click while the first one asks for the key would pay again.
let isStarting = false
let controller = new AbortController()

/**
 * Plans the list, shows the plan, and sends it unless the user must be asked first, for example
 * before everything is bought again. Without an API key, only sets `keyProblem` and returns false.
 */
export const check = (
  list: Check["list"],
  { freshness, isWanted = false }: { readonly freshness: Freshness; readonly isWanted?: boolean },
): Promise<boolean> => {
  const begun = { list, freshness, startedAt: Date.now(), creditsBefore: 0 }
  return start({ ...begun, isWanted: isWanted || freshness === "none" }, freshnesses[freshness])
}

/** Plans and sends the URLs without figures. What this check has bought is not bought again. */
export const goOn = async (): Promise<boolean> => {
  if (shown.value === undefined) return false
  const { freshness, isWanted, list, run, startedAt } = shown.value
  const creditsBefore = shown.value.creditsBefore + run.creditsUsed
  return start(
    { list, freshness, startedAt, creditsBefore, isWanted },
    freshness === "none" ? { maxAgeMs: Date.now() - startedAt } : freshnesses[freshness],
  )
}

/** A check that is starting and has no key yet. */
type Begun = Pick<Check, "list" | "freshness" | "startedAt" | "creditsBefore" | "isWanted">

const start = async (begun: Begun, options: PlanOptions): Promise<boolean> => {
  if (isStarting || isActive.value) return false
  isStarting = true
  try {
    const apiKey = await currentKey()
    if (apiKey === undefined) return false
    const service = location.origin + base
    const run = new Run({ answers: await answers, connect: connect(apiKey), service, apiKey })
    void plan({ ...begun, key: apiKey, account: account.value, run }, options)
    return true
  } finally {
    isStarting = false
  }
}

const connect =
  (apiKey: string): Connect =>
  (onRetry) =>
    client({
      apiKey,
      onRetry: (error, waitMs) => {
        // A retry would fail too while the device is offline.
        if (!navigator.onLine) throw error
        const delay = { error, until: Date.now() + waitMs }
        if (planning.value !== undefined) planning.value = { ...planning.value, delay }
        return onRetry?.(error, waitMs)
      },
    })

const plan = async (check: Check, options: PlanOptions) => {
  const { isWanted, list, run } = check
  const { signal } = (controller = new AbortController())
  batch(() => {
    // Keep the rows of the list unchanged until the plan is ready.
    const former = shown.value
    shown.value = former?.list === list ? { ...former, isWanted } : check
    question.value = undefined
    problem.value = undefined
    planning.value = { done: 0, all: list.items.length }
  })
  const urls = list.items.map(({ url }) => url)
  const onProgress = (done: number, all: number) => (planning.value = { done, all })
  try {
    const plan = await run.plan(urls, { ...options, signal, onProgress })
    // The user may have removed the key in the meantime.
    if (signal.aborted || key.value !== check.key) return
    batch(() => {
      shown.value = { ...check, plan }
      question.value = reasonsOf(plan, isWanted)
    })
  } catch (error) {
    if (!signal.aborted) ended(error)
  } finally {
    if (signal === controller.signal) planning.value = undefined
  }
  if (question.value?.length === 0) await confirm()
}

const reasonsOf = (plan: Plan, isWanted: boolean): ReadonlyArray<Reason> => {
  const { availableCredits = Infinity, budget = Infinity, doubtful, maxCredits = Infinity } = plan
  const found: ReadonlyArray<readonly [Reason, boolean]> = [
    ["wanted", isWanted],
    ["doubtful", doubtful.targets > 0],
    ["limit", maxCredits > limit.value],
    ["balance", maxCredits > Math.min(availableCredits, budget)],
  ]
  return found.flatMap(([reason, isFound]) => (isFound ? reason : []))
}

/** The user agrees: sends what the plan has found. */
export const confirm = async (doubtful?: "again" | "leaveOut") => {
  if (shown.value === undefined || question.value === undefined) return
  const { run } = shown.value
  batch(() => {
    question.value = undefined
    shown.value = shown.value && { ...shown.value, sentAt: Date.now(), isWanted: false }
  })
  let seen = 0
  const onChange = () => {
    spend(run.creditsUsed - seen)
    seen = run.creditsUsed
    change()
  }
  const sent = run.go({ doubtful, onChange })
  changes.value++
  const error = await sent.then(
    () => run.halt?.error,
    (error: unknown) => error,
  )
  if (shown.value?.run === run) ended(error)
}

/** The user declines: sends nothing. */
export const decline = () => (question.value = undefined)

/** Stops once the batches in flight have ended. A second call aborts them. */
export const stop = () => {
  controller.abort()
  shown.value?.run.stop()
  change()
}

const ended = (error: unknown) => {
  problem.value = error
  change()
  if (isClientError(error) && error._tag === "Unauthorized" && shown.value?.key === key.value)
    return refuseKey()
  void refreshCredits()
}

addEventListener("online", () => {
  const error = problem.value
  if (isClientError(error) && /^(ConnectionFailed|TimedOut)$/.test(error._tag)) void goOn()
})

const leave = () =>
  batch(() => {
    stop()
    shown.value = undefined
    question.value = undefined
    problem.value = undefined
    planning.value = undefined
  })

effect(() => {
  const entered = key.value
  const check = shown.peek()
  if (check === undefined || entered === check.key) return
  // The plan's key would pay, not the key that the user has entered since.
  decline()
  // The answers on the page belong to the account whose key is entered.
  if (entered !== undefined && (check.account ?? "") !== account.value) leave()
})

export const oldRuns = signal<ReadonlyArray<OldRuns.OldRun>>([])
const oldRunsName = `authority-console${base}`
void OldRuns.read(oldRunsName).then((found) => (oldRuns.value = found))

/** Deletes the answers, the key and the runs of version 1.1.0, unless a run is active. */
export const deleteAll = async () => {
  if (isActive.value) return
  await (await answers).clear()
  await OldRuns.remove(oldRunsName)
  leave()
  oldRuns.value = []
  forgetKey()
}
