/**
 * Compares the purchases with the vendors' own counts, once on each UTC day. Replicas share the
 * work: each looks every hour whether another one has done it.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { MetricsProvider } from "../MetricsProvider.ts"
import { ProviderReport, type Reading, type Vendor } from "../ProviderReport.ts"

const warnOf = ({ provider, reason, reconciliation, state }: Reading) => {
  if (state === "failed") {
    return Effect.logWarning(
      "A vendor did not report what it counts as used, so the purchases are not compared. The service tries again in an hour. To check the vendor, run 'authority provider status'.",
      reason,
    )
  }
  if (reconciliation === null || reconciliation.difference === 0) return Effect.void
  const { since } = reconciliation
  const amount = `${reconciliation.difference} ${reconciliation.unit}`
  return Effect.logWarning(
    `The vendor ${provider} counts other costs than the purchases of this service. Difference since ${since}: ${amount}. To see both, run 'authority provider report'.`,
  )
}

export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { circuits = Effect.succeed([]) } = yield* MetricsProvider
    const { reconcile, unread } = yield* ProviderReport
    /** The vendors that report no usage. */
    const uncounted = new Set<string>()
    const isCounted = ({ provider, status }: Vendor) =>
      status !== undefined && !uncounted.has(provider)
    yield* circuits.pipe(
      Effect.map((all) => all.filter(isCounted)),
      Effect.flatMap(unread),
      Effect.flatMap((vendors) => reconcile(vendors, { isDaily: true })),
      Effect.tap((readings) => {
        for (const { provider, state } of readings)
          if (state === "uncounted") uncounted.add(provider)
      }),
      Effect.flatMap(Effect.forEach(warnOf, { discard: true })),
      Effect.catchAllCause((cause) =>
        Effect.logWarning(
          "The purchases cannot be compared with the vendors' counts now. The service tries again in an hour. To check the database, run 'authority doctor'.",
          cause,
        ),
      ),
      Effect.repeat(Schedule.jittered(Schedule.spaced("1 hour"))),
      // Does not slow the start, nor short runs of the program.
      Effect.delay("1 minute"),
      Effect.forkScoped,
    )
  }),
)
