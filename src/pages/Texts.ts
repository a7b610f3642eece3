/** What the console says, in plain words. */
import type { Delay, Halt, Reason, Run } from "./Run.ts"

const numbers = new Intl.NumberFormat("en")
const figures = new Intl.NumberFormat("en", { maximumFractionDigits: 1 })

export const number = (n: number) => numbers.format(n)
export const figure = (n: number) => figures.format(n)

export const count = (n: number, one: string, many = `${one}s`) =>
  `${number(n)} ${n === 1 ? one : many}`

export const addresses = (n: number) => count(n, "address", "addresses")

export const reasons: Readonly<
  Record<Reason, { readonly label: string; readonly explanation: string }>
> = {
  INVALID_URL: {
    label: "Not a public web address",
    explanation: "Nobody was asked, and nothing was charged.",
  },
  PROVIDER_ERROR: {
    label: "No figures from the provider",
    explanation: "It failed or gave no answer in time. Not charged; another try may succeed.",
  },
  SERVER_ERROR: {
    label: "The service failed",
    explanation: "Not charged; another try may succeed.",
  },
  TOO_LONG: {
    label: "Longer than 1,000 characters",
    explanation: "It was not sent, and nothing was charged.",
  },
}

/** Whether asking once more may bring figures. */
export const isWorthRetrying = (reason: Reason) =>
  reason === "PROVIDER_ERROR" || reason === "SERVER_ERROR"

export interface Notice {
  readonly title: string
  readonly text: string
}

export const halted = (halt: Halt, { waiting }: Run): Notice => {
  const left = `${addresses(waiting)} ${waiting === 1 ? "is" : "are"} left`
  const kept = "The results so far are kept."
  switch (halt.kind) {
    case "credits":
      return {
        title: "Out of credits",
        text: `${left}, and the account has ${count(halt.available, "credit")}. ${kept} Continue when the operator has granted more.`,
      }
    case "key":
      return {
        title: "The key is no longer accepted",
        text: `It may have expired or been revoked. ${left}. ${kept} Enter another key and continue.`,
      }
    case "server":
      return {
        title: halt.answers ? "The service fails" : "The service does not answer",
        text: `It was asked several times. ${left}. ${kept} Continue when it is back; nothing is charged twice.`,
      }
    case "offline":
      return {
        title: "This device is offline",
        text: `${left}. ${kept} The run goes on by itself when the connection is back.`,
      }
    case "refused":
      return { title: "The service refused a request", text: `${halt.message} ${left}. ${kept}` }
  }
}

export const delayed = (delay: Delay): string => {
  switch (delay.kind) {
    case "rate limit":
      return `The account's rate limit is reached: going on in ${count(delay.seconds, "second")}.`
    case "in progress":
      return `The service is still busy with an earlier try of a batch: asking again every ${count(delay.seconds, "second")}.`
    case "server":
      return `The service does not answer: trying again (${delay.attempt} of ${delay.of}).`
  }
}

/** Roughly, for nobody knows the provider's next answer. */
export const remaining = (seconds: number): string =>
  seconds < 90
    ? `about ${count(Math.max(1, Math.round(seconds)), "second")} left`
    : `about ${count(Math.round(seconds / 60), "minute")} left`

/** Where a run stands, in a line. */
export const standing = (run: Run): string => {
  const total = addresses(run.rows.length)
  switch (run.status) {
    case "running":
      return `Checking ${total}`
    case "stopping":
      return "Stopping: waiting for what is on its way"
    case "done":
      return `Done: ${total}`
    case "stopped":
    case "halted":
      return `Stopped: ${number(run.waiting)} of ${total} left`
  }
}
