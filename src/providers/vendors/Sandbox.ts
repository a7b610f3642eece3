/**
 * Gives free synthetic figures, to try the service and to test clients. A page always has the same
 * figures. Most domains get low authority and low spam scores, well-known domains get high
 * authority, and a home page gets more authority than other pages. Some hosts simulate a real
 * provider's behaviour:
 *
 * - `provider-error.example.com` fails with PROVIDER_ERROR
 * - `server-error.example.com` fails with SERVER_ERROR
 * - `no-spam-score.example.com` has no spam score
 * - `slow.example.com` answers after five seconds, or fails with PROVIDER_ERROR at the deadline
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { failed, type Metrics, Outcome, providerFailed, unanswered } from "../../check/Metrics.ts"
import { MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../../check/Target.ts"
import * as MonotonicClock from "../../check/MonotonicClock.ts"

export const layer: Layer.Layer<MetricsProvider> = Layer.sync(MetricsProvider, () =>
  MetricsProvider.of({
    name: "sandbox",
    known: (targets) => Effect.sync(() => Option.fromNullable(outcomesOf(targets))),
    prospects: (targets) =>
      Effect.succeed(targets.map((target) => (isSlow(target) ? "asked" : "known"))),
    circuits: Effect.succeed([]),
    lookup: Effect.fn("Sandbox.lookup")(function* (targets, { deadline }) {
      const outcomes = outcomesOf(targets)
      if (outcomes !== undefined) return outcomes
      const remainingMs = Math.max(0, deadline - (yield* MonotonicClock.now))
      yield* Effect.sleep(Math.min(slownessMs, remainingMs))
      const isLate = remainingMs < slownessMs
      return targets.map((target) => (isLate && isSlow(target) ? unanswered : outcomeOf(target)))
    }),
  }),
)

/** Undefined when any target is on `slow.example.com`. */
export const outcomesOf = (targets: ReadonlyArray<Target>): ReadonlyArray<Outcome> | undefined =>
  targets.some(isSlow) ? undefined : targets.map(outcomeOf)

const slownessMs = 5000

const isSlow = ({ host }: Target) => host === "slow.example.com"

const providerError = providerFailed("the sandbox simulates a failed lookup for this host name")
const serverError = failed(
  "SERVER_ERROR",
  "the sandbox simulates a failed lookup for this host name",
)

// Kept in a variable, because each access to `Outcome.Checked` makes a new constructor.
const checked = Outcome.Checked

const outcomeOf = (target: Target): Outcome => {
  switch (target.host) {
    case "provider-error.example.com":
      return providerError
    case "server-error.example.com":
      return serverError
    case "no-spam-score.example.com": {
      const { domainAuthority, pageAuthority } = metricsOf(target)
      return checked({ metrics: { domainAuthority, pageAuthority } })
    }
    default:
      return checked({ metrics: metricsOf(target) })
  }
}

const wellKnown: ReadonlyMap<string, number> = new Map([
  ["amazon.com", 96],
  ["apple.com", 98],
  ["bbc.co.uk", 95],
  ["cloudflare.com", 95],
  ["example.com", 92],
  ["facebook.com", 96],
  ["github.com", 96],
  ["google.com", 98],
  ["instagram.com", 94],
  ["linkedin.com", 97],
  ["microsoft.com", 98],
  ["mozilla.org", 96],
  ["nytimes.com", 95],
  ["reddit.com", 93],
  ["stackoverflow.com", 93],
  ["w3.org", 94],
  ["wikipedia.org", 98],
  ["wordpress.org", 97],
  ["youtube.com", 98],
])

// Makes metrics that are whole numbers from 1 to 98. Domain authority and spam score come from a
// hash of the domain. Page authority also depends on a hash of the page.
const metricsOf = ({ domain, host, page }: Target): Metrics => {
  const domainStart = host.length - domain.length
  const domainHash = hash(emptyHash, page, domainStart, host.length)
  const pageHash = hash(hash(domainHash, page, 0, domainStart), page, host.length, page.length)
  const known = wellKnown.get(domain)
  const domainAuthority = known ?? Math.ceil(80 * skewed(fraction(domainHash)))
  const isHome = page.length === host.length + 1
  const share = (isHome ? 0.9 : 0.4) + (isHome ? 0.1 : 0.4) * fraction(pageHash)
  // At most 4 for a well-known site. For other sites, the maximum falls as domain authority rises.
  const maxSpamScore = known === undefined ? 0.6 * (100 - domainAuthority) : 4
  return {
    domainAuthority,
    pageAuthority: Math.ceil(domainAuthority * share),
    spamScore: Math.ceil(maxSpamScore * skewed(fraction(scrambled(domainHash)))),
  }
}

const skewed = (fraction: number) => fraction * fraction * Math.sqrt(fraction)

const emptyHash = 0x811c9dc5

/** FNV-1a over `text` from index `from` to `to`, continued from the hash `before`. */
const hash = (before: number, text: string, from: number, to: number): number => {
  let hash = before
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** MurmurHash3's final mix: every bit of the hash affects every bit of the result. */
const scrambled = (hash: number): number => {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35)
  return twice ^ (twice >>> 16)
}

const fraction = (hash: number): number => ((scrambled(hash) >>> 0) + 1) / 0x1_0000_0000
