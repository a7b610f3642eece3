/** What a run would do for a list and what it would cost, also as a sentence and a table. */
import { printable } from "../check/printable.ts"
import { counted } from "../contract/counted.ts"

/** A number of targets and the most that they can cost; undefined when the price is unknown. */
export interface Part {
  readonly targets: number
  readonly credits: number | undefined
}

export interface Plan {
  /** The number of URLs in the list, which is `valid + invalid`. */
  readonly total: number
  readonly valid: number
  readonly invalid: number
  /** Valid URLs with the same target as an earlier URL of the list. */
  readonly duplicates: number
  /** Distinct targets of the list that have an answer in the store, and so cost nothing. */
  readonly answered: number
  /** How many of these answers have no figures. */
  readonly failed: number
  /** When the oldest of these answers arrived, in epoch milliseconds. */
  readonly oldest: number | undefined
  /** The price of one target; undefined while it is unknown. */
  readonly price: number | undefined
  /** Distinct targets without an answer whose figures the service already has. */
  readonly known: number
  /** Distinct targets without an answer whose figures the service must buy. */
  readonly toBuy: number
  /**
   * The targets of the pending batches that are sent again, because they contain a target of the
   * list.
   */
  readonly repeated: number
  /** The URLs among these targets that are not in the list. */
  readonly repeatedOthers: ReadonlyArray<string>
  /** The most that the run can cost, without `doubtful`; undefined when the price is unknown. */
  readonly maxCredits: number | undefined
  /**
   * Targets that were sent and not answered so long ago that the service has forgotten the request.
   * Checking them again may charge for them a second time.
   */
  readonly doubtful: Part
  /**
   * The account's available credits; undefined when they were not asked for or the key may not read
   * them.
   */
  readonly availableCredits: number | undefined
  /** What is left of the key's budget; undefined for a key without one. */
  readonly budget: number | undefined
}

/** Describes the plan in a sentence. `now` is in epoch milliseconds. */
export const sentence = (plan: Plan, now: number): string => {
  const { duplicates, invalid, total } = plan
  const toCheck = plan.known + plan.toBuy + plan.repeated - plan.repeatedOthers.length
  const others = plan.repeatedOthers.length
  const parts = [
    ...answered(plan, now),
    ...(duplicates === 0 ? [] : [counted(duplicates, "duplicate")]),
    ...(invalid === 0 ? [] : [`${count(invalid)} invalid`]),
    ...(plan.doubtful.targets === 0 ? [] : [`${count(plan.doubtful.targets)} in doubt`]),
    `${count(toCheck)} to check`,
    ...(others === 0 ? [] : [`${count(others)} more that are repeated with them`]),
    ...(toCheck === 0 ? [] : [cost(plan.maxCredits)]),
  ]
  return `${counted(total, "address", "addresses")}: ${parts.join(", ")}${account(plan)}.`
}

/** A row of the plan's table. `credits` is the most that its URLs can cost. */
export interface Row {
  readonly what: string
  readonly addresses: number
  readonly credits: number | undefined
}

/** Counts the URLs of each kind and what they cost at most. Leaves out kinds that do not occur. */
export const table = (plan: Plan): ReadonlyArray<Row> => {
  const priced = (targets: number) => {
    if (targets === 0) return 0
    return plan.price === undefined ? undefined : targets * plan.price
  }
  const rows: ReadonlyArray<
    readonly [what: string, addresses: number, credits: number | undefined]
  > = [
    ["answered before", plan.answered, 0],
    ["duplicates", plan.duplicates, 0],
    ["invalid", plan.invalid, 0],
    ["known to the service", plan.known, priced(plan.known)],
    ["to be bought", plan.toBuy, priced(plan.toBuy)],
    ["sent without an answer, repeated under their key", plan.repeated, priced(plan.repeated)],
    ["sent without an answer more than 23 hours ago", plan.doubtful.targets, plan.doubtful.credits],
  ]
  return rows.flatMap(([what, addresses, credits]) =>
    addresses === 0 ? [] : [{ what, addresses, credits }],
  )
}

/** The sentence, the table and `others`, as lines. */
export const describe = (plan: Plan, now: number): ReadonlyArray<string> => {
  const rows = table(plan).map(({ addresses, credits, what }) => [
    what,
    count(addresses),
    credits === undefined ? "unknown price" : counted(credits, "credit"),
  ])
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0))
  const [first, second] = [widthOf(0), widthOf(1)]
  const lines = rows.map(
    ([what = "", addresses = "", credits = ""]) =>
      `  ${what.padEnd(first)}  ${addresses.padStart(second)}  ${credits}`,
  )
  return [sentence(plan, now), ...lines, ...others(plan)]
}

/** Names the URLs that are sent again in the same batches although they are not in the list. */
export const others = ({ repeatedOthers }: Plan): ReadonlyArray<string> => {
  if (repeatedOthers.length === 0) return []
  const named = repeatedOthers.slice(0, namedOthers).map(printable).join(", ")
  const rest = repeatedOthers.length - namedOthers
  return [
    `Not in the list, but in the same batches: ${named}${rest > 0 ? ` and ${count(rest)} more` : ""}.`,
  ]
}

const namedOthers = 10

const answered = ({ answered, oldest }: Plan, now: number) =>
  oldest === undefined ? [] : [`${count(answered)} answered ${when(oldest, now)} (0 credits)`]

const when = (at: number, now: number) => {
  const days = Math.floor(now / dayMs) - Math.floor(at / dayMs)
  return days <= 0 ? "today" : `in the last ${counted(days + 1, "day")}`
}

const dayMs = 24 * 60 * 60 * 1000

const cost = (credits: number | undefined) =>
  credits === undefined ? "at an unknown price" : `at most ${counted(credits, "credit")}`

const account = ({ availableCredits, budget }: Plan) => {
  const parts = [
    ...(availableCredits === undefined ? [] : [`the account has ${count(availableCredits)}`]),
    ...(budget === undefined ? [] : [`this key's budget ${count(budget)}`]),
  ]
  return parts.length === 0 ? "" : `; ${parts.join(", ")}`
}

/** Says what may be charged a second time, as a sentence without its period. */
export const twice = (doubtful: Part): string =>
  `${counted(doubtful.targets, "address was", "addresses were")} sent more than 23 hours ago without an answer and may be charged a second time (${doubtful.credits === undefined ? "at an unknown price" : `up to ${counted(doubtful.credits, "credit")}`}), because the service keeps answers for a day`

const count = (n: number) => n.toLocaleString("en")
