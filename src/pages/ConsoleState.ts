/**
 * The state of the console: the API key, the credits and the runs. It exists only in memory and is
 * lost when the page is closed.
 */
import { batch, computed, signal } from "@preact/signals"
import * as ApiClient from "./ApiClient.ts"
import { type List, Run } from "./Run.ts"

/** The service may be mounted under any path. Its API is beside this page. */
const base = location.pathname.replace(/\/+console\/*$/i, "")

const api = ApiClient.make(base)

export const hasSyntheticFigures = document.documentElement.dataset["figures"] === "synthetic"

export const key = signal<string | undefined>(undefined)
export const keyProblem = signal<string | undefined>(undefined)
export const isAskingForCredits = signal(false)
export const runs = signal<ReadonlyArray<Run>>([])
export const shown = signal<Run | undefined>(undefined)

/** Increases after changes of a run. A run reads it, so that what shows the run is drawn again. */
const changes = signal(0)

/** The credits at the last refresh, and what this visit had spent by then. */
const balance = signal<{ readonly credits: number; readonly spent: number } | undefined>(undefined)

const spentByNow = () => runs.value.reduce((sum, run) => sum + run.creditsUsed, 0)

export const spent = computed(spentByNow)

export const credits = computed(() =>
  balance.value === undefined
    ? undefined
    : Math.max(0, balance.value.credits - (spent.value - balance.value.spent)),
)

export const activeRun = computed(() => runs.value.find((run) => run.isActive))

const wrongKey =
  "This key is not accepted. It may be mistyped, expired or revoked; ask your operator."

/** Uses the key if the service accepts it. Returns false, and sets `keyProblem`, if it does not. */
export const enterKey = async (text: string): Promise<boolean> => {
  const entered = text.trim()
  if (!ApiClient.isKeyLike(entered)) {
    keyProblem.value =
      entered === ""
        ? "Enter a key."
        : "That is not an API key: a key starts with am_ and has no spaces."
    return false
  }
  return askForCredits(entered)
}

export const refreshCredits = () =>
  key.value === undefined ? Promise.resolve(false) : askForCredits(key.value)

/** Numbers the credit requests. Only the latest answer counts, and none after `forgetKey`. */
let questions = 0

const askForCredits = async (asked: string): Promise<boolean> => {
  const question = ++questions
  isAskingForCredits.value = true
  // Not `spent.value`, which is updated only after a delay.
  const spentBefore = spentByNow()
  const answer = await api.credits(asked)
  if (question !== questions) return false
  batch(() => {
    isAskingForCredits.value = false
    if (answer._tag === "Answered") {
      key.value = asked
      keyProblem.value = undefined
      balance.value = { credits: answer.value, spent: spentBefore }
    } else if (answer._tag === "Refused" && answer.status === 401) {
      forgetKey()
      keyProblem.value = wrongKey
    } else {
      keyProblem.value =
        answer._tag === "Refused"
          ? `The service could not check the key: ${answer.message}`
          : navigator.onLine
            ? "The service does not answer. Try again in a moment."
            : "This device is offline."
    }
  })
  return answer._tag === "Answered"
}

export const forgetKey = () => {
  questions++
  isAskingForCredits.value = false
  key.value = undefined
  balance.value = undefined
  keyProblem.value = undefined
}

/** Starts a run over the list and shows it. Returns false when no key is entered. */
export const check = (list: List) => {
  if (key.value === undefined) {
    keyProblem.value = "Enter a key first."
    return false
  }
  const run: Run = new Run(list, {
    api,
    isOnline: () => navigator.onLine,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms)
        signal.addEventListener(
          "abort",
          () => {
            clearTimeout(timer)
            resolve()
          },
          { once: true },
        )
      }),
    now: Date.now,
    onChange: () => onChange(run),
    onRead: () => void changes.value,
  })
  runs.value = [run, ...runs.value]
  shown.value = run
  go(run, key.value)
  return true
}

/** Continues a run. Returns false when no key is entered. */
export const goOn = (run: Run) => {
  if (key.value === undefined) {
    keyProblem.value = "Enter a key first."
    return false
  }
  go(run, key.value)
  return true
}

const go = (run: Run, entered: string) => {
  keys.set(run, entered)
  run.go(entered)
}

/** The key that each run was last started with. */
const keys = new WeakMap<Run, string>()
const wasActive = new WeakMap<Run, boolean>()

const onChange = (run: Run) => {
  announceChange(run)
  if (wasActive.get(run) === true && !run.isActive) {
    // The user may have entered another key since the run started.
    if (run.halt?.kind === "key" && keys.get(run) === key.value) {
      forgetKey()
      keyProblem.value = wrongKey
    } else {
      void refreshCredits()
    }
  }
  wasActive.set(run, run.isActive)
}

/** Throttles updates to one per 150 ms, or per second for long lists, which are slow to sort. */
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

addEventListener("online", () => {
  for (const run of runs.value) if (run.halt?.kind === "offline") goOn(run)
})

/** How many results of each run were exported, to warn before the page closes with unsaved ones. */
const exported = new WeakMap<Run, number>()
export const markExported = (run: Run) => exported.set(run, run.checked)

addEventListener("beforeunload", (event) => {
  const isUnsaved = runs.value.some((run) => run.isActive || run.checked > (exported.get(run) ?? 0))
  if (isUnsaved) event.preventDefault()
})
