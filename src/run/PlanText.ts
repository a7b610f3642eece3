/** Says in words what a check would do and cost. */
import type { Part, Plan } from "./Plan.ts"
import { counted } from "../text/counted.ts"

/** Describes the plan, in lines. `now` is in epoch milliseconds. */
export const describe = (plan: Plan, now: number): ReadonlyArray<string> => [
  `Of ${counted(plan.total, "URL")}, ${count(plan.valid)} can be checked and ${count(plan.invalid)} cannot; ${counted(plan.duplicates, "is a duplicate", "are duplicates")}.`,
  ...answered(plan, now),
  ...unanswered(plan),
  ...cost(plan),
]

const answered = ({ answered, oldest, paid }: Plan, now: number) =>
  oldest === undefined
    ? []
    : [
        `${counted(answered, "target has its", "targets have their")} answer from an earlier start, the oldest from ${new Date(oldest).toISOString()} (${age(now - oldest)} ago); the account has paid ${counted(paid, "credit")}.`,
      ]

const unanswered = ({ doubtful, givenUp, repeated, repeatedOthers }: Plan) => [
  ...(repeated === 0
    ? []
    : [
        `${counted(repeated, "target was", "targets were")} sent without an answer, and ${repeated === 1 ? "is" : "are"} sent again under the same idempotency key, so nothing is charged twice${repeatedOthers === 0 ? "" : `; ${count(repeatedOthers)} of them ${repeatedOthers === 1 ? "is" : "are"} not in the list, but in the same batches`}.`,
      ]),
  ...(doubtful.targets === 0 ? [] : [`${twice(doubtful)}.`]),
  ...(givenUp.targets === 0
    ? []
    : [
        `For ${counted(givenUp.targets, "target")} an earlier start got no answer, and may have paid ${credits(givenUp)} more; the account's statement shows it.`,
      ]),
]

const cost = ({ availableCredits, known, maxCredits, price, toBuy }: Plan) =>
  availableCredits === undefined
    ? []
    : [
        `The service knows ${counted(known, "target")} and would buy ${count(toBuy)}.`,
        `A check costs ${maxCredits === undefined ? "an unknown number of credits" : `at most ${counted(maxCredits, "credit")}${each(price)}`}, and the account has ${count(availableCredits)}.`,
      ]

const each = (price: number | undefined) =>
  price === undefined ? "" : ` (${count(price)} for each target)`

/** Names what may be charged a second time, as a sentence without its period. */
export const twice = (doubtful: Part): string =>
  `${counted(doubtful.targets, "address was", "addresses were")} sent more than 23 hours ago without an answer and may be charged a second time (${credits(doubtful)}), because the service keeps answers for a day`

const credits = (part: Part) =>
  part.credits === undefined ? "at an unknown price" : `up to ${counted(part.credits, "credit")}`

const age = (ms: number) => {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 120) return counted(minutes, "minute")
  return minutes < 48 * 60
    ? counted(Math.floor(minutes / 60), "hour")
    : counted(Math.floor(minutes / 60 / 24), "day")
}

const count = (n: number) => n.toLocaleString("en")
