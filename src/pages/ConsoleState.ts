/**
 * The state of the console: the API key, the credits and the runs. The key exists only in memory
 * and is lost when the page is closed. `RunStore` keeps the runs in the browser.
 */
import { batch, computed, signal } from "@preact/signals"
import {
  AuthorityMetrics,
  ConnectionFailed,
  type Options,
  TimedOut,
  Unauthorized,
} from "../client/PromiseClient.ts"
import type { Change, Summary } from "./KeptRun.ts"
import { type List, Run, type Surroundings } from "./Run.ts"
import * as RunStore from "./RunStore.ts"
import { count } from "./Texts.ts"

/** The part of the page's path before `/console`. A proxy can serve the service below any path. */
const base = location.pathname.replace(/\/+console\/*$/i, "")

/** Waits and retries as long as `authority check`. */
const client = (options: Omit<Options, "baseUrl">) =>
  AuthorityMetrics({
    baseUrl: location.origin + base,
    timeoutMs: 120_000,
    patienceMs: 120_000,
    ...options,
  })

export const hasSyntheticFigures = document.documentElement.dataset["figures"] === "synthetic"

export const key = signal<string | undefined>(undefined)
export const keyProblem = signal<string | undefined>(undefined)
export const isAskingForCredits = signal(false)
export const runs = signal<ReadonlyArray<Run>>([])
export const shown = signal<Run | undefined>(undefined)

// A counter that increases after a run has changed. Every read of a run reads this signal too, so a
// component that shows the run is redrawn after the change.
const changes = signal(0)

/** The account's credits at the last refresh, and the value of `spent` at that moment. */
const balance = signal<{ readonly credits: number; readonly spent: number } | undefined>(undefined)

const spentByNow = () => runs.value.reduce((sum, run) => sum + run.creditsOfVisit, 0)

/** The credits that all runs have used since the page was loaded. */
export const spent = computed(spentByNow)

export const credits = computed(() =>
  balance.value === undefined
    ? undefined
    : Math.max(0, balance.value.credits - (spent.value - balance.value.spent)),
)

const findActive = () => runs.value.find((run) => run.isActive)

export const activeRun = computed(findActive)

const wrongKey =
  "This key is not accepted. It may be mistyped, expired or revoked; ask your operator."

/** Uses the API key if the service accepts it. Otherwise returns false and sets `keyProblem`. */
export const enterKey = async (text: string): Promise<boolean> => {
  const entered = text.trim()
  if (entered === "") {
    keyProblem.value = "Enter a key."
    return false
  }
  return askForCredits(entered)
}

export const refreshCredits = () =>
  key.value === undefined ? Promise.resolve(false) : askForCredits(key.value)

// The number of the latest request for the credits. Answers to earlier requests are ignored.
// `forgetKey` increases the number, so that the answers to all requests are ignored.
let questions = 0

const askForCredits = async (asked: string): Promise<boolean> => {
  const question = ++questions
  isAskingForCredits.value = true
  // `spent` can be out of date here: it is updated up to one second after a run has used credits.
  const spentBefore = spentByNow()
  const answer = await client({ apiKey: asked, timeoutMs: 20_000, patienceMs: 0 })
    .availableCredits()
    .catch((error: unknown) => error)
  if (question !== questions) return false
  batch(() => {
    isAskingForCredits.value = false
    if (typeof answer === "number") {
      key.value = asked
      keyProblem.value = undefined
      balance.value = { credits: answer, spent: spentBefore }
    } else if (answer instanceof Unauthorized) {
      forgetKey()
      keyProblem.value = wrongKey
    } else if (answer instanceof ConnectionFailed || answer instanceof TimedOut) {
      keyProblem.value = navigator.onLine
        ? "The service does not answer. Try again in a moment."
        : "This device is offline. Connect the device and try again."
    } else {
      const why = answer instanceof Error ? answer.message : String(answer)
      keyProblem.value = `The service could not check the key. Try again in a moment, or ask your operator. The service's answer: ${why}`
    }
  })
  return typeof answer === "number"
}

export const forgetKey = () => {
  questions++
  isAskingForCredits.value = false
  key.value = undefined
  balance.value = undefined
  keyProblem.value = undefined
}

/**
 * Starts a run over the list and shows the run. Without an API key, only sets `keyProblem` and
 * returns false.
 */
export const check = (list: List) =>
  withKey((entered) => {
    const run: Run = Run.of(
      list,
      surroundingsOf(() => run),
    )
    runs.value = [run, ...runs.value]
    shown.value = run
    go(run, entered)
  })

/** Continues a run. Without an API key, only sets `keyProblem` and returns false. */
export const goOn = (run: Run) => withKey((entered) => go(run, entered))

const withKey = (start: (entered: string) => void) => {
  const entered = key.value
  if (entered === undefined) keyProblem.value = "Enter a key first."
  else start(entered)
  return entered !== undefined
}

const surroundingsOf = (run: () => Run): Surroundings => ({
  client,
  isOnline: () => navigator.onLine,
  keep,
  onChange: () => onChange(run()),
  onRead: () => void changes.value,
})

const go = (run: Run, entered: string) => {
  keys.set(run, entered)
  run.go(entered)
}

const keys = new WeakMap<Run, string>()
const wasActive = new WeakMap<Run, boolean>()

const onChange = (run: Run) => {
  announceChange(run)
  if (wasActive.get(run) === true && !run.isActive) {
    keepMissed(run)
    // The user may have entered another key since the run started.
    if (run.halt?.kind === "key" && keys.get(run) === key.value) {
      forgetKey()
      keyProblem.value = wrongKey
    } else {
      void refreshCredits()
    }
    continueOnline()
  }
  wasActive.set(run, run.isActive)
}

/** Redraws at most once per 150 ms, or once per second for a long list, which is slow to sort. */
const announceChange = (run: Run) => {
  pending ??= setTimeout(
    () => {
      pending = undefined
      changes.value++
    },
    run.rows.length > longList ? 1000 : 150,
  )
}
let pending: ReturnType<typeof setTimeout> | undefined
const longList = 20_000

// Continues a run that stopped because the device was offline. When the run ends, the next run that
// stopped for this reason continues.
const continueOnline = () => {
  if (!navigator.onLine || findActive() !== undefined) return
  const run = runs.value.find((run) => run.halt?.kind === "offline")
  if (run !== undefined) goOn(run)
}
addEventListener("online", continueOnline)

const past = signal<ReadonlyArray<Summary>>([])

/** All runs, the latest first. */
export const history = computed(() =>
  [...runs.value.map((run) => run.summary), ...past.value].sort(
    (a, b) => b.startedAt - a.startedAt,
  ),
)

/** The text for the user when the browser cannot store or read results; else undefined. */
export const storeProblem = signal<string | undefined>(undefined)

const unkept = new Set<string>()

const notKept =
  "This browser does not keep the results, perhaps because the window is private. Export the results before you close the page."
const diskFull =
  "The browser has no space left, so the newest results are not kept. Delete old runs, or export the results."

const report = (error: unknown) => {
  const isFull = error instanceof DOMException && error.name === "QuotaExceededError"
  storeProblem.value = isFull ? diskFull : notKept
}

/** Resolves to undefined when the browser refuses to open its database. */
const opening = RunStore.open(`authority-console${base}`).catch((error: unknown) => {
  report(error)
  return undefined
})

const keep = async (change: Change) => {
  const { id } = change.summary
  const store = await opening
  // After a failed write, the stored run lacks some results. A further change would not add them,
  // so store nothing until the whole run is written.
  if (store === undefined || (unkept.has(id) && !change.isWhole)) return void unkept.add(id)
  try {
    await store.keep(change)
    unkept.delete(id)
    if (unkept.size === 0 && storeProblem.value === diskFull) storeProblem.value = undefined
  } catch (error) {
    unkept.add(id)
    report(error)
  }
}

const readHistory = async () => {
  try {
    const list = await (await opening)?.list()
    if (list === undefined) return
    past.value = list.summaries.filter(({ id }) => runs.value.every((run) => run.id !== id))
    if (list.unreadable > 0) {
      storeProblem.value = `${count(list.unreadable, "stored run")} cannot be read. Reload the page, because a newer version of the console may be able to read all runs.`
    }
  } catch (error) {
    report(error)
  }
}
void readHistory()

/** Shows a run. Reads the run from the store if it was not yet opened since the page was loaded. */
export const openRun = async (id: string) => {
  const opened = runs.value.find((run) => run.id === id)
  if (opened !== undefined) return void (shown.value = opened)
  const kept = await opening.then((store) => store?.load(id)).catch(() => undefined)
  if (runs.value.some((run) => run.id === id)) return
  if (kept === undefined) {
    storeProblem.value =
      "This run cannot be read. It may have been deleted in another window. Reload the page to update the list of runs."
    return
  }
  const run: Run = Run.from(
    kept,
    surroundingsOf(() => run),
  )
  batch(() => {
    past.value = past.value.filter((summary) => summary.id !== id)
    runs.value = [...runs.value, run]
    shown.value = run
  })
}

/** Deletes a run, unless it is active. */
export const deleteRun = async (id: string) => {
  if (activeRun.value?.id === id) return
  try {
    // Before the run leaves the page: a reload must not bring it back.
    await (await opening)?.remove(id)
  } catch (error) {
    return report(error)
  }
  batch(() => {
    if (shown.value?.id === id) shown.value = undefined
    runs.value = runs.value.filter((run) => run.id !== id)
    past.value = past.value.filter((summary) => summary.id !== id)
  })
  unkept.delete(id)
  // The deletion may have freed space for results that could not be stored.
  for (const run of runs.value) keepMissed(run)
}

/** Deletes all stored runs, even unreadable ones. Does nothing while a run is active. */
export const deleteAll = async () => {
  if (activeRun.value !== undefined) return
  batch(() => {
    shown.value = undefined
    runs.value = []
    past.value = []
    storeProblem.value = undefined
  })
  unkept.clear()
  try {
    await (await opening)?.clear()
  } catch (error) {
    report(error)
  }
}

const keepMissed = (run: Run) => {
  if (unkept.has(run.id) && !run.isActive) run.keepAll()
}

// How many results of each run were exported. When results are neither stored nor exported, the
// page warns before it closes.
const exported = new WeakMap<Run, number>()
export const markExported = (run: Run) => exported.set(run, run.checked)

addEventListener("beforeunload", (event) => {
  const isUnsaved = runs.value.some(
    (run) => unkept.has(run.id) && run.checked > (exported.get(run) ?? 0),
  )
  if (isUnsaved) event.preventDefault()
})
