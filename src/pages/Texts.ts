/** The texts of the console that depend on the state of a run. */
import { isClientError, type Outcome } from "../client/PromiseClient.ts"
import { type Plan, twice } from "../lists/Plan.ts"
import type { Delay, Run, Status } from "../lists/Run.ts"
import { counted } from "../contract/counted.ts"
import type * as Console from "./console/ConsoleState.ts"
import type { Reason } from "./console/Row.ts"

const numbers = new Intl.NumberFormat("en")
const figures = new Intl.NumberFormat("en", { maximumFractionDigits: 1 })

const shares = new Intl.NumberFormat("en", { style: "percent" })

export const number = numbers.format
export const figure = figures.format
/** Formats a fraction from 0 to 1 as a percentage. */
export const share = shares.format

/** An ISO time to the minute. */
export const minute = (time: string) => time.slice(0, 16).replace("T", " ")

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

/** Explains why there are no figures, in the service's words if it gave any. */
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

/** Explains why a plan or a run stopped, and how to continue. */
export const halted = (
  error: unknown,
  waiting: number,
  run: Pick<Run, "costOf" | "halt">,
): Notice => {
  const left = `${addresses(waiting)} ${waiting === 1 ? "is" : "are"} left`
  const kept = "The answers so far are kept."
  const available = run.halt?.availableCredits ?? Infinity
  if (!isClientError(error)) return storeNotice(error)
  switch (error._tag) {
    case "Unauthorized":
      return {
        title: "The key is no longer accepted",
        text: `The key may have expired or been revoked. ${left}. ${kept} Enter another key and continue.`,
      }
    case "ConnectionFailed":
    case "TimedOut":
    case "ServiceFailed":
      if (error._tag !== "ServiceFailed" && !navigator.onLine) {
        return {
          title: "This device is offline",
          text: `${left}. ${kept} The run continues automatically when the connection is back.`,
        }
      }
      return {
        title:
          error._tag === "ServiceFailed" ? "The service is failing" : "The service does not answer",
        text: `Several retries failed. ${left}. ${kept} Continue within a day: until then, the service still has the answers that were lost, and charges them once.`,
      }
    case "InsufficientCredits":
      // If the account has enough, the price has risen since the plan, or the key's budget is spent.
      if (available < (run.costOf(1) ?? 0)) {
        return {
          title: "Out of credits",
          text: `${left}, and the account has ${counted(available, "credit")}. ${kept} Continue after the operator has granted more credits.`,
        }
      }
  }
  return {
    title: "The service refused a request",
    text: `${error.message.replace(/\.?$/, ".")} ${left}. ${kept} Ask your operator, then continue.`,
  }
}

const storeNotice = (error: unknown): Notice =>
  error instanceof DOMException && error.name === "QuotaExceededError"
    ? {
        title: "The browser has no space left",
        text: "The run stopped. Free some space, and continue within a day: until then, the service still has the answers that could not be kept, and charges them once.",
      }
    : {
        title: "The browser cannot read or write its answers",
        text: "Reload the page, and check the list again.",
      }

/** Explains why the console asks before it pays. */
export const asked = (plan: Plan, reasons: ReadonlyArray<Console.Reason>, limit: number): string =>
  reasons
    .flatMap((reason) => {
      switch (reason) {
        case "wanted":
          return []
        case "doubtful":
          return `${twice(plan.doubtful)}.`
        case "limit":
          return plan.maxCredits === undefined
            ? "The service does not name its price."
            : `This is more than ${counted(limit, "credit")}, the limit that you set.`
        case "balance":
          return `${shortOf(plan)}: the run stops when the credits are spent. You can continue it later.`
      }
    })
    .join(" ")

const shortOf = ({ availableCredits = Infinity, budget = Infinity }: Plan) =>
  budget < availableCredits
    ? `The budget of this key has ${counted(budget, "credit")}`
    : `The account has ${counted(availableCredits, "credit")}`

export const atMost = (credits: number | undefined): string =>
  credits === undefined ? "at an unknown price" : `at most ${counted(credits, "credit")}`

/** Says when the run sends the next retry. The text changes every second. */
export const untilRetry = (delay: Delay, now: number): string => {
  const seconds = Math.ceil((delay.until - now) / 1000)
  return seconds <= 0 ? "Retrying now." : `Retrying in ${counted(seconds, "second")}.`
}

/** Says roughly how long the run still takes, because the provider's speed varies. */
export const remaining = (seconds: number): string =>
  seconds < 90
    ? `about ${counted(Math.max(1, Math.round(seconds)), "second")} left`
    : `about ${counted(Math.round(seconds / 60), "minute")} left`

/** The status of a check in one line. */
export const standing = (
  status: Status | "planning" | "asking",
  { total, waiting }: { readonly total: number; readonly waiting: number },
): string => {
  const allAddresses = addresses(total)
  switch (status) {
    case "planning":
      return `Finding out what ${allAddresses} cost${total === 1 ? "s" : ""}`
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
      return `Stopped: ${number(waiting)} of ${allAddresses} left to check`
  }
}
