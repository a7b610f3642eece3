/**
 * Synthetic figures, free of charge, for trying the service and for tests of clients. A name gets
 * the same figures every time, and some hosts act out what a real provider may do:
 *
 * - `provider-error.example.com` fails with PROVIDER_ERROR
 * - `server-error.example.com` fails with SERVER_ERROR
 * - `no-spam-score.example.com` has no spam score
 * - `slow.example.com` answers after five seconds
 */
import { createHash } from "node:crypto"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Deadline } from "../Deadline.ts"
import { type Metrics, Outcome } from "../Metrics.ts"
import { MetricsProvider, nothingKnown } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"

export const layer: Layer.Layer<MetricsProvider> = Layer.succeed(MetricsProvider, {
  name: "sandbox",
  known: nothingKnown,
  lookup: Effect.fn("Sandbox.lookup")(function* (targets: NonEmptyReadonlyArray<Target>) {
    const isLate = targets.some(isSlow) ? yield* waitFor(slownessMs) : false
    return targets.map((target) => (isLate && isSlow(target) ? late : outcomeOf(target)))
  }),
})

const slownessMs = 5000

const isSlow = ({ host }: Target) => host === "slow.example.com"

/** True when the deadline came first. */
const waitFor = (ms: number) =>
  Effect.gen(function* () {
    const remaining = (yield* Deadline) - (yield* Clock.currentTimeMillis)
    yield* Effect.sleep(Math.min(ms, Math.max(0, remaining)))
    return remaining < ms
  })

const late = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "no answer in time" })

const outcomeOf = (target: Target): Outcome => {
  switch (target.host) {
    case "provider-error.example.com":
      return Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "as the host's name asks for" })
    case "server-error.example.com":
      return Outcome.Failed({ reason: "SERVER_ERROR", detail: "as the host's name asks for" })
    case "no-spam-score.example.com": {
      const { domainAuthority, pageAuthority } = synthesize(target)
      return Outcome.Checked({ metrics: { domainAuthority, pageAuthority } })
    }
    default:
      return Outcome.Checked({ metrics: synthesize(target) })
  }
}

const synthesize = ({ domain, page }: Target): Metrics => ({
  domainAuthority: digit(domain, 0),
  pageAuthority: digit(page, 1),
  spamScore: digit(domain, 2),
})

/** A whole number from 1 to 100 that only the name decides. */
const digit = (name: string, index: number): number =>
  1 +
  (createHash("sha256")
    .update(name)
    .digest()
    .readUInt16BE(index * 2) %
    100)
