/**
 * What the page knows, from its opening to its closing: it is kept nowhere else. The key is in
 * memory alone.
 */
import { batch, computed, signal } from "@preact/signals"
import * as ApiClient from "./ApiClient.ts"
import { Run } from "./Run.ts"

/** Wherever the service is mounted, it is beside this page. */
const base = location.pathname.replace(/\/+console\/*$/i, "")

const api = ApiClient.make(base)

export const hasSyntheticFigures = document.documentElement.dataset["figures"] === "synthetic"

export const key = signal<string | undefined>(undefined)
export const keyProblem = signal<string | undefined>(undefined)
export const isAskingForCredits = signal(false)
export const runs = signal<ReadonlyArray<Run>>([])
export const shown = signal<Run | undefined>(undefined)

/** Rises whenever something of a run has changed; runs themselves are no signals. */
export const changes = signal(0)

/** The credits at one moment, and what this visit had spent by then. */
const balance = signal<{ readonly credits: number; readonly spent: number } | undefined>(undefined)

const spentByNow = () => runs.value.reduce((sum, run) => sum + run.creditsUsed, 0)

export const spent = computed(() => {
  void changes.value
  return spentByNow()
})

export const credits = computed(() =>
  balance.value === undefined
    ? undefined
    : Math.max(0, balance.value.credits - (spent.value - balance.value.spent)),
)

export const activeRun = computed(() => {
  void changes.value
  return runs.value.find((run) => run.isActive)
})

const wrongKey =
  "This key is not accepted. It may be mistyped, expired or revoked; ask whoever gave it to you."

/** Takes the key when the service does. */
export const enterKey = async (text: string): Promise<boolean> => {
  const entered = text.trim()
  if (!ApiClient.isKeyLike(entered)) {
    keyProblem.value =
      entered === "" ? "Enter a key." : "This is no key: a key starts with am_ and has no spaces."
    return false
  }
  return askForCredits(entered)
}

export const refreshCredits = () =>
  key.value === undefined ? Promise.resolve(false) : askForCredits(key.value)

/** Of these questions only the last one's answer counts, and none once the key is forgotten. */
let questions = 0

const askForCredits = async (asked: string): Promise<boolean> => {
  const question = ++questions
  isAskingForCredits.value = true
  // Ahead of what is shown, which follows the runs in steps.
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
          ? `The service could not look the key up: ${answer.message}`
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

/** Starts a run over the addresses and shows it; false where there is no key. */
export const check = (urls: ReadonlyArray<string>) => {
  if (key.value === undefined) {
    keyProblem.value = "Enter a key first."
    return false
  }
  const run: Run = new Run(urls, {
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
    onChange: () => onChange(run),
  })
  runs.value = [run, ...runs.value]
  shown.value = run
  go(run, key.value)
  return true
}

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

/** With which key each run was last started. */
const keys = new WeakMap<Run, string>()
const wasActive = new WeakMap<Run, boolean>()

const onChange = (run: Run) => {
  announceChange(run)
  if (wasActive.get(run) === true && !run.isActive) {
    // Another key may have been entered since.
    if (run.halt?.kind === "key" && keys.get(run) === key.value) {
      forgetKey()
      keyProblem.value = wrongKey
    } else {
      void refreshCredits()
    }
  }
  wasActive.set(run, run.isActive)
}

/** At most some times a second: long lists take their time to be sorted and counted. */
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

/** Figures that were paid for and are in no file yet go with the page. */
const exported = new WeakMap<Run, number>()
export const markExported = (run: Run) => exported.set(run, run.checked)

addEventListener("beforeunload", (event) => {
  const isUnsaved = runs.value.some((run) => run.isActive || run.checked > (exported.get(run) ?? 0))
  if (isUnsaved) event.preventDefault()
})
