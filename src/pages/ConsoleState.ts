/** The runs of the console: starts and continues them, and keeps them in the browser. */
import { batch, computed, effect, signal } from "@preact/signals"
import { v4 as uuid } from "uuid"
import type { Plan } from "../run/Plan.ts"
import { counted } from "../text/counted.ts"
import {
  account,
  base,
  client,
  currentKey,
  key,
  keyProblem,
  refreshCredits,
  refuseKey,
  spend,
} from "./Account.ts"
import * as DeviceStore from "./DeviceStore.ts"
import { KeptJournal } from "./KeptJournal.ts"
import type { KeptList, Summary } from "./KeptRun.ts"
import { ListRun, type Surroundings, TakenOver } from "./ListRun.ts"
import * as RunStore from "./RunStore.ts"
import { areVersions } from "./UrlList.ts"

export const hasSyntheticFigures = document.documentElement.dataset["figures"] === "synthetic"

export const runs = signal<ReadonlyArray<ListRun>>([])
export const shown = signal<ListRun | undefined>(undefined)

const findActive = () => runs.value.find((run) => run.isActive)

export const activeRun = computed(findActive)

const limitPlace = `authority-limit${base}`

/** The console asks before a check that may cost more credits than this. */
export const limit = signal(Number(DeviceStore.read(limitPlace) ?? "500") || 0)
effect(() => DeviceStore.keep(limitPlace, String(limit.value)))

/** Why the console asks before it pays. */
export type Reason =
  /** The user wants to see the plan first. */
  | "wanted"
  /** The list was finished before, or a former version of it. */
  | "finished"
  /** Another key paid for the run so far, perhaps of another account. */
  | "key"
  /** Lost answers may be charged a second time. */
  | "doubtful"
  | "limit"
  | "balance"

export interface Question {
  readonly run: ListRun
  readonly plan: Plan
  readonly reasons: ReadonlyArray<Reason>
}

/** The run that waits for the user's decision. */
export const question = signal<Question | undefined>(undefined)

/** A list to check, and the name of its file; empty without one. */
export interface NamedList extends KeptList {
  readonly name: string
}

interface CheckOptions {
  /** True to make a new run, and to pay for the whole list. */
  readonly isAnew?: boolean
  /** True to show the plan before anything is paid. */
  readonly isWanted?: boolean
}

/** The run of the last list that was checked. */
const lastCheck = signal<ListRun | undefined>(undefined)

/** True when the list has the outcomes of its last check. */
export const isChecked = ({ items }: KeptList): boolean =>
  lastCheck.value?.list.items === items && lastCheck.value.status === "done"

// A second click while the first one looks for the run, or asks for the key, would pay once more.
let isStarting = false

/** Starts a run unless one is active or starting. Returns false when no run was started. */
const startOnce = async (begin: () => Promise<boolean>): Promise<boolean> => {
  if (isStarting || findActive() !== undefined) return false
  isStarting = true
  try {
    return (await currentKey()) !== undefined && (await begin())
  } finally {
    isStarting = false
  }
}

/**
 * Checks a list, in the run of an earlier version of the list if there is one, and shows the run.
 * Without an API key, only sets `keyProblem` and returns false.
 */
export const check = (
  { items, name, own }: NamedList,
  { isAnew = false, isWanted = false }: CheckOptions = {},
): Promise<boolean> =>
  startOnce(async () => {
    const list: KeptList = { items, ...(own !== undefined && { own }) }
    if (!isAnew) await readPast()
    const found = isAnew ? undefined : await findRun(list)
    if (findActive() !== undefined) return false
    const run = found ?? (await makeRun(name, list))
    if (found === undefined && !isAnew) unstored.add(run)
    const wasDone = run.status === "done"
    batch(() => {
      shown.value = run
      lastCheck.value = run
    })
    void start(run, { list, isWanted, wasDone })
    return true
  })

/** New runs that are not stored. Another window may store a run of the same list before them. */
const unstored = new WeakSet<ListRun>()

const makeRun = async (name: string, list: KeptList): Promise<ListRun> => {
  const facts = { id: uuid(), name, startedAt: Date.now() }
  const run = await ListRun.open(facts, list, surroundingsOf(new KeptJournal(facts.id, keeping)))
  runs.value = [run, ...runs.value]
  return run
}

/**
 * Continues a run; with `isRetry`, checks failed addresses again. Without an API key of the run's
 * account, only sets `keyProblem` and returns false.
 */
export const goOn = (run: ListRun, options: Pick<StartOptions, "isRetry"> = {}): Promise<boolean> =>
  startOnce(async () => {
    if (isOfOther(run)) {
      keyProblem.value = `The account ${run.account} pays for this run. Use a key of that account to continue it.`
      return false
    }
    void start(run, options)
    return true
  })

/** True for a run of another account than the key's. */
const isOfOther = (run: ListRun) =>
  run.account !== undefined && account.value !== undefined && run.account !== account.value

/**
 * Answers the question: sends the run that waits. When another window has started the list since,
 * continues the run of that window.
 */
export const confirm = async (doubtful?: "again" | "leaveOut") => {
  const run = question.value?.run
  question.value = undefined
  if (run === undefined) return
  await run.go(doubtful, (store) =>
    inTurn(async () => {
      if (unstored.has(run)) {
        await readPast()
        if ((await findRun(run.list)) !== undefined) throw new TakenOver()
      }
      await store()
      unstored.delete(run)
    }),
  )
  if (!unstored.has(run)) return ended(run)
  leave(run.id)
  await check({ ...run.list, name: run.name })
}

/** One window at a time. A browser has no locks for a page of another machine without TLS. */
const inTurn = (act: () => Promise<void>): Promise<void> =>
  isSecureContext ? navigator.locks.request(`authority-console${base}`, act) : act()

/** Answers the question: sends nothing. */
export const decline = () => {
  question.value?.run.leave()
  question.value = undefined
}

// The key of the plan would pay, not the key that the user has entered since.
effect(() => {
  const entered = key.value
  if (question.value?.run.isKeyOf(entered) === false) decline()
})

interface StartOptions {
  readonly list?: KeptList
  readonly isWanted?: boolean
  readonly wasDone?: boolean
  readonly isRetry?: boolean
}

const start = async (run: ListRun, { list, ...options }: StartOptions) => {
  const entered = key.value
  if (entered === undefined) return
  decline()
  const plan = await run.prepare({ key: entered, account: account.value }, list, options.isRetry)
  if (plan === undefined) return ended(run)
  const reasons = reasonsOf(run, plan, { ...options, entered })
  question.value = { run, plan, reasons }
  if (reasons.length === 0) await confirm()
}

const reasonsOf = (
  run: ListRun,
  plan: Plan,
  { entered, isWanted = false, wasDone = false }: StartOptions & { readonly entered: string },
): ReadonlyArray<Reason> => {
  const { availableCredits = Infinity, doubtful, known, maxCredits = Infinity, repeated } = plan
  const isIdle = plan.toBuy + known + repeated + doubtful.targets === 0
  const found: Readonly<Record<Reason, boolean>> = {
    wanted: isWanted,
    finished: wasDone && plan.answered > 0,
    key: !isIdle && !isKnownPayer(run, entered),
    doubtful: doubtful.targets > 0,
    limit: maxCredits > limit.value,
    balance: maxCredits > availableCredits,
  }
  return reasons.filter((reason) => found[reason])
}

const isKnownPayer = ({ account: payer, keyStart = "" }: ListRun, entered: string) =>
  entered.startsWith(keyStart) || (payer !== undefined && payer === account.value)

const reasons = ["wanted", "finished", "key", "doubtful", "limit", "balance"] as const

/** What happens after each end of a run, and after a plan that failed. */
const ended = async (run: ListRun) => {
  if (!run.isKept) await run.keep()
  await keepSummary(run)
  if (run.halt?.kind === "key" && run.isKeyOf(key.value)) refuseKey()
  else void refreshCredits()
  continueOnline()
}

// Continues a run that stopped because the device was offline. When the run ends, the next run that
// stopped for this reason continues.
const continueOnline = () => {
  if (!navigator.onLine || key.value === undefined || findActive() !== undefined) return
  const run = runs.value.find((run) => run.halt?.kind === "offline" && !isOfOther(run))
  if (run !== undefined) void goOn(run)
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

const notKept =
  "This browser does not keep the results, perhaps because the window is private. Export the results before you close the page."
const diskFull =
  "The browser has no space left, so the newest results are not kept. Delete old runs, or export the results."

const report = (error: unknown) => {
  const isFull = error instanceof DOMException && error.name === "QuotaExceededError"
  storeProblem.value = isFull ? diskFull : notKept
}

const keeping = {
  /** Resolves to undefined when the browser refuses to open its database. */
  store: RunStore.open(`authority-console${base}`, uuid()).catch((error: unknown) => {
    report(error)
    return undefined
  }),
  onProblem: report,
}

const surroundingsOf = (journal: KeptJournal): Surroundings => ({
  journal,
  connect: (apiKey) => (onRetry) => client({ apiKey, onRetry }),
  isOnline: () => navigator.onLine,
  onSpent: spend,
})

const keepSummary = async (run: ListRun) => {
  try {
    if (run.isKept) await (await keeping.store)?.keepSummary(run.summary)
  } catch (error) {
    report(error)
  }
}

export const rename = (run: ListRun, name: string) => {
  run.rename(name)
  void keepSummary(run)
}

/** Reads the summaries of the runs that are stored. Another window may have made some of them. */
const readPast = async () => {
  try {
    const list = await (await keeping.store)?.list()
    if (list === undefined) return
    past.value = list.summaries.filter(({ id }) => runs.value.every((run) => run.id !== id))
    if (list.unreadable > 0) {
      storeProblem.value = `${counted(list.unreadable, "stored run")} cannot be read. Reload the page, because a newer version of the console may be able to read all runs.`
    }
  } catch (error) {
    report(error)
  }
}

const showBrokenOff = async () => {
  await readPast()
  const brokenOff = history.value.find(({ checked, failed, total }) => checked + failed < total)
  const run = brokenOff && (await findOrLoad(brokenOff.id))
  if (run !== undefined && findActive() === undefined) shown.value ??= run
}
void showBrokenOff()

/** Returns a run, from the store if it was not yet opened since the page was loaded. */
const findOrLoad = async (id: string): Promise<ListRun | undefined> => {
  const opened = () => runs.value.find((run) => run.id === id)
  if (opened() !== undefined) return opened()
  try {
    const kept = await (await keeping.store)?.load(id)
    if (kept === undefined) return undefined
    const surroundings = surroundingsOf(new KeptJournal(id, keeping))
    const run = await ListRun.open(kept.summary, kept.list, surroundings)
    if (opened() === undefined) {
      batch(() => {
        past.value = past.value.filter((summary) => summary.id !== id)
        runs.value = [...runs.value, run]
      })
    }
    return opened()
  } catch {
    return undefined
  }
}

/** How many of the latest runs are compared with a new list. */
const compared = 20

/** Finds the latest run of a list, or of another version of it. */
const findRun = async (list: KeptList): Promise<ListRun | undefined> => {
  const length = list.items.length
  for (const { id, total } of history.value.slice(0, compared)) {
    if (total > length * maxGrowth || length > total * maxGrowth) continue
    const run = await findOrLoad(id)
    if (run !== undefined && !run.isActive && !isOfOther(run) && areVersions(run.list, list))
      return run
  }
  return undefined
}

/** A list with more rows than that is not compared, for the sake of speed. */
const maxGrowth = 4

/** Shows a run. */
export const openRun = async (id: string) => {
  const run = await findOrLoad(id)
  if (run !== undefined) {
    shown.value = run
    return
  }
  storeProblem.value =
    "This run cannot be read. It may have been deleted in another window. Reload the page to update the list of runs."
}

const isAny = (run: ListRun | undefined, id?: string) =>
  run !== undefined && (id === undefined || run.id === id)

/** Takes one run, or all runs, from the page. */
const leave = (id?: string) =>
  batch(() => {
    if (isAny(question.value?.run, id)) decline()
    if (isAny(lastCheck.value, id)) lastCheck.value = undefined
    if (isAny(shown.value, id)) shown.value = undefined
    runs.value = runs.value.filter((run) => !isAny(run, id))
    past.value = past.value.filter((summary) => id !== undefined && summary.id !== id)
  })

/** Deletes a run, unless it is active. */
export const deleteRun = async (id: string) => {
  if (activeRun.value?.id === id) return
  try {
    // Before the run leaves the page: a reload must not bring it back.
    await (await keeping.store)?.remove(id)
  } catch (error) {
    return report(error)
  }
  leave(id)
  await keepMissed()
}

// The deletion may have freed space for results that could not be stored.
const keepMissed = async () => {
  const missed = runs.value.filter((run) => !run.isKept && !run.isActive)
  await Promise.all(missed.map((run) => run.keep()))
  if (storeProblem.value === diskFull && runs.value.every((run) => run.isKept)) {
    storeProblem.value = undefined
  }
}

/** Deletes all stored runs, even unreadable ones. Does nothing while a run is active. */
export const deleteAll = async () => {
  if (activeRun.value !== undefined) return
  try {
    await (await keeping.store)?.clear()
  } catch (error) {
    return report(error)
  }
  leave()
  storeProblem.value = undefined
}

// How many results of each run were exported. When results are neither stored nor exported, the
// page warns before it closes.
const exported = new WeakMap<ListRun, number>()
export const markExported = (run: ListRun) => exported.set(run, run.checked)

addEventListener("beforeunload", (event) => {
  const isUnsaved = runs.value.some((run) => !run.isKept && run.checked > (exported.get(run) ?? 0))
  if (isUnsaved) event.preventDefault()
})
