/**
 * The budget of an API key: how many credits the key may spend in a period. Days and months are
 * those of UTC. Keys that replace each other share one budget.
 */
import * as Data from "effect/Data"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Credits, creditsOf } from "../Credits.ts"

export const BudgetId = Schema.String.pipe(Schema.brand("BudgetId"))
export type BudgetId = typeof BudgetId.Type

export const Period = Schema.Literal("day", "month", "total")
export type Period = typeof Period.Type

const Fields = Schema.Struct({
  credits: Credits.pipe(Schema.greaterThanOrEqualTo(1)),
  period: Period,
})

/** The error message for text that is not a budget. */
export const expected = "expected a budget such as 500/day, 500/month or 500/total"

export interface Budget {
  readonly credits: Credits
  readonly period: Period
}

/** A budget as people write it: `500/day`, `500/month` or `500/total`. */
export const Budget = Schema.transformOrFail(Schema.String, Schema.typeSchema(Fields), {
  strict: true,
  decode: (text, _, ast) => {
    const [, credits = "", period = ""] = /^(\d{1,16})\/(.*)$/.exec(text) ?? []
    const budget = { credits: Number(credits), period }
    return Schema.is(Fields)(budget)
      ? ParseResult.succeed(budget)
      : ParseResult.fail(new ParseResult.Type(ast, text, expected))
  },
  encode: (budget) => ParseResult.succeed(textOf(budget)),
})

export const textOf = ({ credits, period }: Budget): string => `${credits}/${period}`

/** How much of a budget was spent in one period. */
export interface Use {
  readonly charged: Credits
  readonly held: Credits
  readonly holds: number
}

export const unused: Use = { charged: creditsOf(0), held: creditsOf(0), holds: 0 }

/** A budget and how much of it is spent in the current period. */
export interface Spent extends Budget {
  /** Credits that are charged or held. */
  readonly used: Credits
  /** The credits left; 0 when the budget was lowered below `used`. */
  readonly remaining: Credits
  /** The end of the current period, in epoch milliseconds; null for a `total` budget. */
  readonly resetsAt: number | null
}

export const dayMs = 86_400_000

/**
 * The start of the period that contains the time `at`, both in epoch milliseconds; 0 for `total`.
 */
export const startOf = (period: Period, at: number): number => {
  if (period === "total") return 0
  if (period === "day") return Math.floor(at / dayMs) * dayMs
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** The end of the period that contains the time `at`; null for `total`. */
export const endOf = (period: Period, at: number): number | null =>
  period === "total"
    ? null
    : startOf(period, startOf(period, at) + (period === "day" ? dayMs : 31 * dayMs))

export const spent = (budget: Budget, { charged, held }: Use, at: number): Spent => {
  const used = creditsOf(charged + held)
  return {
    credits: budget.credits,
    period: budget.period,
    used,
    remaining: creditsOf(Math.max(0, budget.credits - used)),
    resetsAt: endOf(budget.period, at),
  }
}

/**
 * The request does not fit into the budget of its key. `isHeld` is true if it would fit were it not
 * for the holds of running requests.
 */
export class BudgetExceeded extends Data.TaggedError("BudgetExceeded")<{
  readonly required: Credits
  readonly budget: Budget
  readonly use: Use
  readonly isHeld: boolean
  /** The end of the period, in epoch milliseconds; null for a `total` budget. */
  readonly resetsAt: number | null
}> {
  override get message() {
    const { budget, isHeld, required, resetsAt, use } = this
    const left = Math.max(0, budget.credits - use.charged - use.held)
    const needs = `This request needs ${counted(required, "credit")} and the budget of its key has ${left} left of ${budget.credits} ${periods[budget.period]}`
    if (isHeld) return `${needs}: ${use.held} held by ${counted(use.holds, "running request")}.`
    return resetsAt === null
      ? `${needs}.`
      : `${needs}, resets ${new Date(resetsAt).toISOString().slice(0, 10)}.`
  }
}

const periods = { day: "a day", month: "a month", total: "in all" } as const

const counted = (n: number, one: string) => `${n} ${n === 1 ? one : `${one}s`}`
