/** The texts of the console that depend on the state of a run. */
import type { Outcome } from "../client/PromiseClient.ts"
import { twice } from "../run/PlanText.ts"
import type { Delay } from "../run/Run.ts"
import { counted } from "../text/counted.ts"
import type { Question } from "./ConsoleState.ts"
import type { Halt, ListRun } from "./ListRun.ts"
import type { Reason } from "./Row.ts"

const numbers = new Intl.NumberFormat("en")
const figures = new Intl.NumberFormat("en", { maximumFractionDigits: 1 })

const shares = new Intl.NumberFormat("en", { style: "percent" })

export const number = (n: number) => numbers.format(n)
export const figure = (n: number) => figures.format(n)

/** A part of one, from 0 to 1, as a percentage. */
export const share = (part: number) => shares.format(part)

export const addresses = (n: number) => counted(n, "address", "addresses")

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
}

/** Why there are no figures, in the words of the service where it gave some. */
export const explanation = (outcome: Outcome | undefined, reason: Reason): string => {
  const detail = outcome !== undefined && "reason" in outcome ? outcome.detail : undefined
  return detail === undefined
    ? reasons[reason].explanation
    : `${detail.charAt(0).toUpperCase()}${detail.slice(1)} Not charged.`
}

interface Notice {
  readonly title: string
  readonly text: string
}

/** Explains why a run stopped, and how to continue it. */
export const halted = (halt: Halt, { waiting }: ListRun): Notice => {
  const left = `${addresses(waiting)} ${waiting === 1 ? "is" : "are"} left`
  const kept = "The results so far are kept."
  switch (halt.kind) {
    case "credits":
      return {
        title: "Out of credits",
        text: `${left}, and the account has ${counted(halt.available, "credit")}. ${kept} Continue after the operator has granted more credits.`,
      }
    case "key":
      return {
        title: "The key is no longer accepted",
        text: `The key may have expired or been revoked. ${left}. ${kept} Enter another key and continue.`,
      }
    case "server":
      return {
        title: halt.answers ? "The service is failing" : "The service does not answer",
        text: `Several retries failed. ${left}. ${kept} Continue within a day: until then, the service still has the answers that were lost, and charges them once.`,
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
    case "window":
      return {
        title: "The run is in another window",
        text: "Another window has continued or deleted this run. To go on here, continue it; the other window then stops.",
      }
    case "store":
      return {
        title: "The browser cannot read this run",
        text: `Reload the page, and continue. ${kept}`,
      }
  }
}

/** Why the console asks before it pays, in sentences. */
export const asked = ({ plan, reasons, run }: Question, limit: number): string =>
  reasons
    .flatMap((reason) => {
      switch (reason) {
        case "wanted":
          return []
        case "finished":
          return `${addresses(plan.answered)} of this list ${plan.answered === 1 ? "has an answer" : "have their answers"}${plan.oldest === undefined ? "" : `, the oldest from ${moment(plan.oldest)}`}, which ${plan.answered === 1 ? "costs" : "cost"} nothing more.`
        case "key":
          return `The key ${run.keyStart}… paid for this run so far. If your key belongs to another account, that account pays for the rest.`
        case "doubtful":
          return `${twice(plan.doubtful)}.`
        case "limit":
          return plan.maxCredits === undefined
            ? "The service does not name its price."
            : `This is more than ${counted(limit, "credit")}, the limit that you set.`
        case "balance":
          return plan.maxCredits === undefined
            ? []
            : `The account has ${counted(plan.availableCredits ?? 0, "credit")}: the run stops when the credits are spent. You can continue it later.`
      }
    })
    .join(" ")

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })

/** `at` is in epoch milliseconds. */
const moment = (at: number) => moments.format(at)

/** The most that something costs. */
export const atMost = (credits: number | undefined): string =>
  credits === undefined ? "at an unknown price" : `at most ${counted(credits, "credit")}`

/** Says when the run sends the next retry. The text changes every second. */
export const untilRetry = (delay: Delay, now: number): string => {
  const seconds = Math.ceil((delay.until - now) / 1000)
  return seconds <= 0 ? "Retrying now." : `Retrying in ${duration(seconds)}.`
}

const duration = (seconds: number): string => {
  if (seconds < 60) return counted(seconds, "second")
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${counted(minutes, "minute")} ${counted(seconds % 60, "second")}`
  return `${counted(Math.floor(minutes / 60), "hour")} ${counted(minutes % 60, "minute")}`
}

/**
 * Says how long the run still takes. The text is approximate, because the provider's speed varies.
 */
export const remaining = (seconds: number): string =>
  seconds < 90
    ? `about ${counted(Math.max(1, Math.round(seconds)), "second")} left`
    : `about ${counted(Math.round(seconds / 60), "minute")} left`

/** The status of a run in one line. */
export const standing = (run: ListRun): string => {
  const allAddresses = addresses(run.total)
  switch (run.status) {
    case "planning":
      return `Finding out what ${allAddresses} cost${run.total === 1 ? "s" : ""}`
    case "asking":
      return `Not started: ${allAddresses}`
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
