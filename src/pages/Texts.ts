/** The texts of the console that depend on the state of a run. */
import type { Reason } from "./Row.ts"
import type { Delay, Halt, Run } from "./Run.ts"

const numbers = new Intl.NumberFormat("en")
const figures = new Intl.NumberFormat("en", { maximumFractionDigits: 1 })

const shares = new Intl.NumberFormat("en", { style: "percent" })

export const number = (n: number) => numbers.format(n)
export const figure = (n: number) => figures.format(n)

/** A part of one, from 0 to 1, as a percentage. */
export const share = (part: number) => shares.format(part)

export const count = (n: number, one: string, many = `${one}s`) =>
  `${number(n)} ${n === 1 ? one : many}`

export const addresses = (n: number) => count(n, "address", "addresses")

export const reasons: Readonly<
  Record<Reason, { readonly label: string; readonly explanation: string }>
> = {
  INVALID_URL: {
    label: "Not a public web address",
    explanation: "Not sent to the provider and not charged.",
  },
  PROVIDER_ERROR: {
    label: "No figures from the provider",
    explanation: "The provider failed or did not answer in time. Not charged; a retry may succeed.",
  },
  SERVER_ERROR: {
    label: "The service failed",
    explanation: "Not charged; a retry may succeed.",
  },
  TOO_LONG: {
    label: "Longer than 1,000 characters",
    explanation: "Not sent and not charged.",
  },
}

interface Notice {
  readonly title: string
  readonly text: string
}

/** Explains why a run stopped, and how to continue it. */
export const halted = (halt: Halt, { waiting }: Run): Notice => {
  const left = `${addresses(waiting)} ${waiting === 1 ? "is" : "are"} left`
  const kept = "The results so far are kept."
  switch (halt.kind) {
    case "credits":
      return {
        title: "Out of credits",
        text: `${left}, and the account has ${count(halt.available, "credit")}. ${kept} Continue after the operator has granted more credits.`,
      }
    case "key":
      return {
        title: "The key is no longer accepted",
        text: `The key may have expired or been revoked. ${left}. ${kept} Enter another key and continue.`,
      }
    case "server":
      return {
        title: halt.answers ? "The service is failing" : "The service does not answer",
        text: `Several retries failed. ${left}. ${kept} Continue when the service is back; nothing is charged twice.`,
      }
    case "offline":
      return {
        title: "This device is offline",
        text: `${left}. ${kept} The run continues automatically when the connection is back.`,
      }
    case "refused":
      return {
        title: "The service refused a request",
        text: `${halt.message.replace(/\.?$/, ".")} ${left}. ${kept} Ask your operator, then continue.`,
      }
  }
}

/** Says when the run sends the next retry. The text changes every second. */
export const untilRetry = (delay: Delay, now: number): string => {
  const seconds = Math.ceil((delay.until - now) / 1000)
  return seconds <= 0 ? "Retrying now." : `Retrying in ${duration(seconds)}.`
}

const duration = (seconds: number): string => {
  if (seconds < 60) return count(seconds, "second")
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${count(minutes, "minute")} ${count(seconds % 60, "second")}`
  return `${count(Math.floor(minutes / 60), "hour")} ${count(minutes % 60, "minute")}`
}

/**
 * Says how long the run still takes. The text is approximate, because the provider's speed varies.
 */
export const remaining = (seconds: number): string =>
  seconds < 90
    ? `about ${count(Math.max(1, Math.round(seconds)), "second")} left`
    : `about ${count(Math.round(seconds / 60), "minute")} left`

/** The status of a run in one line. */
export const standing = (run: Run): string => {
  const allAddresses = addresses(run.rows.length)
  switch (run.status) {
    case "running":
      return `Checking ${allAddresses}`
    case "stopping":
      return "Stopping: waiting for unanswered batches"
    case "done":
      return `Done: ${allAddresses}`
    case "stopped":
    case "halted":
      return `Stopped: ${number(run.waiting)} of ${allAddresses} left to check`
  }
}
