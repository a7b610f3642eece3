/** What a run would do and cost for a list, and the same in words: one sentence and one table. */
import { printable } from "../check/printable.ts"
import { counted } from "../contract/counted.ts"

/** A number of targets, and the most that they can cost; undefined when the price is unknown. */
export interface Part {
  readonly targets: number
  readonly credits: number | undefined
}

export interface Plan {
  /** The URLs of the list. `total` is `valid + invalid`. */
  readonly total: number
  readonly valid: number
  readonly invalid: number
  /** Valid URLs whose target an earlier URL of the list has. */
  readonly duplicates: number
  /** Distinct targets of the list that have an answer in the store. They cost nothing. */
  readonly answered: number
  /** How many of these answers have no figures. */
  readonly failed: number
  /** When the oldest of these answers arrived, in epoch milliseconds. */
  readonly oldest: number | undefined
  /** The price of one target; undefined while nobody has named it. */
  readonly price: number | undefined
  /** Distinct targets that have no answer, and whose figures the service has. */
  readonly known: number
  /** Distinct targets that have no answer, and whose figures the service has not. */
  readonly toBuy: number
  /** Targets of the batches without an answer that are repeated: they have an address of the list. */
  readonly repeated: number
  /** The URLs of these targets that are not in the list. */
  readonly repeatedOthers: ReadonlyArray<string>
  /** The most that the run can cost, without `doubtful`; undefined for an unknown price. */
  readonly maxCredits: number | undefined
  /**
   * Targets that were sent without an answer, so long ago that the service has forgotten the
   * request: another check may charge them a second time.
   */
  readonly doubtful: Part
  /** What the account has; undefined when nobody was asked, or the key may not ask. */
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

/** A row of the plan's table. `credits` is the most that the addresses cost. */
export interface Row {
  readonly what: string
  readonly addresses: number
  readonly credits: number | undefined
}

/** Lists what the addresses of the plan are, and what each kind costs. Leaves empty kinds out. */
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

/** The sentence, the table and `others`, in lines. */
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

/** Names the addresses that are not in the list, but repeated with those that are. */
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

/** Names what may be charged a second time, as a sentence without its period. */
export const twice = (doubtful: Part): string =>
  `${counted(doubtful.targets, "address was", "addresses were")} sent more than 23 hours ago without an answer and may be charged a second time (${doubtful.credits === undefined ? "at an unknown price" : `up to ${counted(doubtful.credits, "credit")}`}), because the service keeps answers for a day`

const count = (n: number) => n.toLocaleString("en")
