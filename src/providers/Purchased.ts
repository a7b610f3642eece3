/**
 * Records each call to a vendor as a purchase: before it is sent, and again when its cost is known.
 * Sends nothing while a ceiling is reached, the vendor is paused, or the call cannot be recorded, and
 * nothing after the deadline.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Deadline from "../Deadline.ts"
import { failureOf, type MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import {
  type CeilingReached,
  type Cost,
  type Purchase,
  Purchases,
  type VendorPaused,
} from "../Purchases.ts"
import { failWithStoreFailure, type StoreFailure } from "../StoreFailure.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"
import type { Target } from "../Target.ts"
import * as SteadyClock from "../time/SteadyClock.ts"
import { AfterStored } from "./AfterStored.ts"
import { Bill, Billing } from "./Bill.ts"

export interface Options {
  /** Maximum number of rows in a UTC month, and the name of its setting. */
  readonly ceiling?: { readonly rows: number; readonly setting: string } | undefined
  /** The price of 1,000 rows, in millionths of the vendor's currency. */
  readonly price?: number | undefined
  /** How long the row of a purchase is kept. */
  readonly kept: Duration.Duration
}

export const make = (
  inner: MetricsProvider["Type"],
  options: Options = { kept: Duration.days(90) },
): Effect.Effect<MetricsProvider["Type"], never, Purchases | Scope.Scope> =>
  Effect.flatMap(Purchases, (purchases) =>
    Effect.as(
      Effect.forkScoped(sweeping(purchases, options.kept)),
      over(inner, purchases, options),
    ),
  )

const over = (
  inner: MetricsProvider["Type"],
  purchases: Purchases["Type"],
  options: Options,
): MetricsProvider["Type"] => {
  const { ceiling, price } = options
  const provider = inner.name
  const meters = Meters.make(provider)

  const refused = (refusal: CeilingReached | VendorPaused | StoreFailure) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (refusal._tag === "CeilingReached") meters.ceilingRowsLeft(0)
      const error = unsent(refusal, provider, options, now)
      return refusal._tag === "StoreFailure" ? Effect.zipRight(warnOfStore(refusal), error) : error
    })

  const { close, ended } = closing(purchases, provider, price, meters)

  const send = (
    purchase: Purchase,
    targets: Arr.NonEmptyReadonlyArray<Target>,
    restore: Restore,
  ) => {
    if (purchase.rowsLeft !== undefined) meters.ceilingRowsLeft(purchase.rowsLeft)
    const bill = new Billing()
    let isSent = false
    const [some, rest] = Arr.splitNonEmptyAt(targets, purchase.targets)
    const sending = Effect.flatMap(Deadline.remainingMs, (remainingMs) => {
      if (remainingMs <= 0) return recordedTooLate(provider)
      isSent = true
      return inner.lookup(some)
    })
    const sent = restore(sending).pipe(
      Effect.provideService(Bill, bill),
      Effect.onExit((exit) =>
        isSent ? ended(purchase, bill, exit) : close(purchase, "failed", bill),
      ),
    )
    return rest.length === 0
      ? sent
      : Effect.map(sent, (outcomes) => [
          ...outcomes,
          ...rest.map(() => failureOf(exhausted(provider, ceiling))),
        ])
  }

  const lookup = (targets: Arr.NonEmptyReadonlyArray<Target>) =>
    // Uninterruptible, so that a recorded call is either sent or closed.
    Effect.uninterruptibleMask((restore) =>
      purchases.open({ provider, targets: targets.length, ceiling: ceiling?.rows }).pipe(
        failWithStoreFailure,
        Effect.matchEffect({
          onFailure: refused,
          onSuccess: (purchase) => send(purchase, targets, restore),
        }),
      ),
    )

  return { ...inner, lookup }
}

/** Closes the purchases of a vendor, and counts what they cost. */
const closing = (
  purchases: Purchases["Type"],
  provider: string,
  price: number | undefined,
  meters: Meters.Meters,
) => {
  const close = (purchase: Purchase, state: Cost["state"], bill: Billing) => {
    const rows = bill.rows ?? (state === "answered" ? purchase.targets : 0)
    const computed = price === undefined ? null : Math.round((rows * price) / 1000)
    const cost = bill.cost ?? computed
    meters.rowsBought(rows)
    if (cost !== null) meters.cost(cost / 1e6)
    return purchases.close(purchase, { state, rows, cost, isReported: bill.cost !== undefined })
  }

  const pauseAfter = ({ reason, retryAfter }: ProviderError) =>
    reason === "Throttled" && retryAfter !== undefined
      ? Effect.flatMap(Clock.currentTimeMillis, (now) =>
          purchases.pause(provider, now + Duration.toMillis(retryAfter)),
        )
      : Effect.void

  const stayUnknown = Effect.sync(() => meters.unknownCalls(1))

  /** Closes the purchase, unless the vendor may have billed what no answer shows. */
  const ended = (purchase: Purchase, bill: Billing, exit: Exit.Exit<unknown, ProviderError>) => {
    if (Exit.isSuccess(exit)) {
      return bill.isOpen(undefined)
        ? stayUnknown
        : Effect.flatMap(AfterStored, (after) => after(close(purchase, "answered", bill)))
    }
    const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
    if (error === undefined) return stayUnknown
    return Effect.zipRight(
      pauseAfter(error),
      bill.isOpen(error.reason) ? stayUnknown : close(purchase, "failed", bill),
    )
  }

  return { close, ended }
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Why a call was not sent. */
const unsent = (
  refusal: CeilingReached | VendorPaused | StoreFailure,
  provider: string,
  { ceiling }: Options,
  now: number,
): ProviderError => {
  switch (refusal._tag) {
    case "CeilingReached":
      return exhausted(provider, ceiling, refusal.mayChange ? undefined : refusal.endsAt - now)
    case "VendorPaused":
      return new ProviderError({
        provider,
        reason: "Throttled",
        detail: "the provider has asked for a pause",
        retryAfter: Duration.millis(refusal.until - now),
        isUnsent: true,
      })
    case "StoreFailure":
      return new ProviderError({
        provider,
        reason: "Unavailable",
        detail: "the call could not be recorded in the database",
        isUnsent: true,
      })
  }
}

const recordedTooLate = (provider: string) =>
  new ProviderError({
    provider,
    reason: "Timeout",
    detail: "the database took all the time of the request to record the call",
    isUnsent: true,
  })

const exhausted = (provider: string, ceiling: Options["ceiling"], retryAfterMs?: number) =>
  new ProviderError({
    provider,
    reason: "Exhausted",
    detail: `the ceiling ${ceiling?.setting} of ${ceiling?.rows} rows a month is reached`,
    isUnsent: true,
    ...(retryAfterMs !== undefined && { retryAfter: Duration.millis(retryAfterMs) }),
  })

const warnOfStore = ({ message }: StoreFailure) =>
  Effect.logWarning(
    "A call to the provider could not be recorded, so the provider was not asked. To check the database, run 'authority doctor'.",
    message,
  )

/** Deletes old rows when the clock can be trusted. The sums of their days stay. */
const sweeping = (purchases: Purchases["Type"], kept: Duration.Duration) => {
  const isSteady = SteadyClock.make()
  return Effect.flatMap(Effect.all([Clock.currentTimeMillis, isSteady]), ([now, steady]) =>
    steady ? purchases.sweep(now - Duration.toMillis(kept)) : Effect.void,
  ).pipe(
    Effect.catchAllCause((cause) =>
      Effect.logWarning(
        "Old purchases cannot be deleted from the database. The service tries again in 10 minutes. To check the database, run 'authority doctor'.",
        cause,
      ),
    ),
    Effect.repeat(Schedule.spaced("10 minutes")),
  )
}
