/**
 * A fallback chain of providers: each provider gets the targets for which the earlier providers
 * returned no figures. Each provider except the last gets half of the remaining time, so that a
 * slow one leaves time for the next.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { missing, type Outcome } from "../check/Metrics.ts"
import { failuresOf, type LookupContext, type MetricsProvider } from "./MetricsProvider.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"

type Provider = MetricsProvider["Type"]

/**
 * Builds the chain in the given order. The lookup of a chain of two or more providers does not
 * fail: when every provider fails, each target has a failed outcome.
 */
export const make = ([first, ...others]: Arr.NonEmptyReadonlyArray<Provider>): Provider =>
  Arr.isNonEmptyArray(others) ? orElse(first, make(others)) : first

// A failure is not final, because the next provider may have figures.
const haveFigures = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.every(({ _tag }) => _tag === "Checked")

const orElse = (former: Provider, latter: Provider): Provider => ({
  name: `${former.name},${latter.name}`,
  known: (targets) => Effect.map(former.known(targets), Option.filter(haveFigures)),
  prospects: prospectsOfChain(former, latter),
  lookup: Effect.fnUntraced(function* (targets, context) {
    const first = former.lookup(targets, yield* halfTheTime(context)).pipe(failuresOf(targets))
    const outcomes = named(former, yield* first)
    const open = targets.filter((_, i) => outcomes[i]?._tag !== "Checked")
    if (!Arr.isNonEmptyArray(open)) return outcomes
    const answers = named(latter, yield* latter.lookup(open, context).pipe(failuresOf(open)))
    const second = new Map(open.map(({ page }, i) => [page, answers[i]]))
    return targets.map(({ page }, i) => second.get(page) ?? outcomes[i] ?? missing)
  }),
  circuits: Effect.zipWith(former.circuits, latter.circuits, (a, b) => [...a, ...b]),
})

/** A target for which the first provider would fail has the prospect that the second one gives. */
const prospectsOfChain =
  (former: Provider, latter: Provider): Provider["prospects"] =>
  (targets, maxAgeMs) =>
    Effect.flatMap(former.prospects(targets, maxAgeMs), (own) => {
      const open = targets.filter((_, i) => own[i] === "failed")
      if (!Arr.isNonEmptyArray(open)) return Effect.succeed(own)
      return Effect.map(latter.prospects(open, maxAgeMs), (others) => {
        const given = others[Symbol.iterator]()
        return own.map((one) => (one === "failed" ? (given.next().value ?? one) : one))
      })
    })

const named = ({ name }: Provider, outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map((outcome): Outcome =>
    outcome._tag === "Checked" && outcome.provider === undefined
      ? { ...outcome, provider: name }
      : outcome,
  )

const halfTheTime = (context: LookupContext) =>
  Effect.map(MonotonicClock.now, (now) => ({
    ...context,
    deadline: now + Math.floor((context.deadline - now) / 2),
  }))
