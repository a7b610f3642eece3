/**
 * The API key and the credits of its account. The key is kept in memory only, unless the user wants
 * this device to remember it.
 */
import { batch, computed, effect, signal } from "@preact/signals"
import {
  AuthorityMetrics,
  ConnectionFailed,
  Forbidden,
  type Options,
  TimedOut,
  Unauthorized,
} from "../client/PromiseClient.ts"
import * as LocalSettings from "./LocalSettings.ts"

/** The part of the page's path before `/console`. A proxy can serve the service below any path. */
export const base = location.pathname.replace(/\/+console\/*$/i, "")

/** Makes a client that waits and retries as long as `authority check`. */
export const client = (options: Omit<Options, "baseUrl">) =>
  AuthorityMetrics({
    baseUrl: location.origin + base,
    timeoutMs: 120_000,
    ...options,
  })

const keyPlace = `authority-key${base}`

export const key = signal<string | undefined>(LocalSettings.read(keyPlace))
/** The name of the key's account; undefined until the service has named it. */
export const account = signal<string | undefined>(undefined)
/** The text in the key field. It becomes the key when a key is needed. */
export const typedKey = signal("")
export const keyProblem = signal<string | undefined>(undefined)
export const isAskingForCredits = signal(false)

/** True if the user wants this device to remember the key. */
export const isRemembering = signal(key.value !== undefined)

effect(() => LocalSettings.keep(keyPlace, isRemembering.value ? key.value : undefined))

/** The account's credits at the last refresh, and the value of `spent` at that moment. */
const balance = signal<{ readonly credits: number; readonly spent: number } | undefined>(undefined)

/** The credits that all runs have used since the page was loaded. */
export const spent = signal(0)

export const spend = (credits: number) => {
  spent.value += credits
}

export const credits = computed(() =>
  balance.value === undefined
    ? undefined
    : Math.max(0, balance.value.credits - (spent.value - balance.value.spent)),
)

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

/** Returns the key, or the text in the key field if the service accepts it. */
export const currentKey = async (): Promise<string | undefined> => {
  if (key.value === undefined) {
    if (typedKey.value.trim() === "") keyProblem.value = "Enter a key first."
    else await enterKey(typedKey.value)
  }
  return key.value
}

export const refreshCredits = () =>
  key.value === undefined ? Promise.resolve(false) : askForCredits(key.value)

// The number of the latest request for the credits. Answers to earlier requests are ignored.
// `dropKey` increases the number, so that all pending answers are ignored.
let questions = 0

const askForCredits = async (asked: string): Promise<boolean> => {
  const question = ++questions
  isAskingForCredits.value = true
  const spentBefore = spent.value
  const asking = client({ apiKey: asked, timeoutMs: 20_000, patienceMs: 0 })
  const [answer, name] = await Promise.all([
    asking.availableCredits().catch((error: unknown) => error),
    asking.key().then(
      ({ account }) => account,
      () => undefined,
    ),
  ])
  if (question !== questions) return false
  batch(() => {
    isAskingForCredits.value = false
    if (typeof answer === "number") {
      key.value = asked
      account.value = name
      typedKey.value = ""
      keyProblem.value = undefined
      balance.value = { credits: answer, spent: spentBefore }
    } else if (answer instanceof Unauthorized) {
      refuseKey()
    } else if (answer instanceof Forbidden) {
      keyProblem.value = `${answer.message} Ask your operator. The console needs a key with the scopes check and read, of an account that is not suspended.`
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

/** Forgets the key, on this device too. */
export const forgetKey = () => {
  isRemembering.value = false
  dropKey()
}

const dropKey = () => {
  questions++
  isAskingForCredits.value = false
  key.value = undefined
  account.value = undefined
  balance.value = undefined
  keyProblem.value = undefined
}

/** Forgets a key that the service does not accept, and tells the user. */
export const refuseKey = () => {
  dropKey()
  keyProblem.value = wrongKey
}

void refreshCredits()
