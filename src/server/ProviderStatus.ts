/**
 * Asks the configured providers for their state, without a running service, and says how to fix
 * each failure.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { missing, type Outcome } from "../check/Metrics.ts"
import { ProviderError, type Quota, quotaDocumentOf } from "../providers/MetricsProvider.ts"
import { type Adapter, Vendor } from "../providers/Vendor.ts"
import * as Settings from "../Settings.ts"
import { failWithStoreFailure } from "../database/StoreFailure.ts"
import { Target } from "../check/Target.ts"
import { printable } from "../check/printable.ts"
import { isoTime } from "../accounts/TimeSpan.ts"
import * as Providers from "./Providers.ts"

/** The state of one provider. `detail` is for people and contains everything. */
export interface Finding {
  readonly provider: Settings.ProviderName
  /** `failure` means that the provider cannot serve now. */
  readonly state: "ok" | "warning" | "failure"
  readonly detail: string
  readonly reason: ProviderError["reason"] | null
  readonly quota: ReturnType<typeof quotaDocumentOf>
  readonly index: string | null
  /** The lookup that was bought with `isLive`; null when none was made. */
  readonly live: { readonly url: string; readonly unexpected: string | null } | null
}

/**
 * Asks each provider once, free of charge. With `isLive`, first prints the price on stderr, then
 * also buys the figures of one well-known domain from each vendor that can serve.
 */
export const examineAll = (options: { readonly isLive: boolean }) =>
  Effect.flatMap(Settings.Settings, ({ providers }) =>
    Effect.forEach(providers, (name) =>
      examine(name, options).pipe(
        failWithStoreFailure,
        Effect.catchAll(({ message }) =>
          Effect.succeed<Finding>({ ...unasked(name), state: "failure", detail: message }),
        ),
      ),
    ),
  )

const unasked = (provider: Settings.ProviderName) => ({
  provider,
  reason: null,
  quota: null,
  index: null,
  live: null,
})

const examine = Effect.fnUntraced(function* (
  name: Settings.ProviderName,
  options: { readonly isLive: boolean },
) {
  if (name === "sandbox") {
    return { ...unasked(name), state: "warning", detail: synthetic } satisfies Finding
  }
  const adapter = name === "dataset" ? undefined : (yield* Providers.adapterOf(name)).adapter
  return yield* Effect.provide(
    ask(name, adapter, options),
    options.isLive ? Providers.recorded(name) : Providers.undecorated(name),
  )
})

/** `adapter` is undefined for the dataset, which is free. */
const ask = Effect.fnUntraced(function* (
  name: Settings.ProviderName,
  adapter: Adapter | undefined,
  { isLive }: { readonly isLive: boolean },
): Effect.fn.Return<Finding, never, Vendor | Settings.Settings> {
  const { call, status } = yield* Vendor
  const { providerTimeout: duration } = yield* Settings.Settings
  const inTime = Effect.timeoutFail({
    duration,
    onTimeout: () =>
      new ProviderError({ provider: name, reason: "Timeout", detail: "no answer in time" }),
  })

  const answer = yield* Effect.either(inTime(status))
  if (Either.isLeft(answer)) return failureOf(unasked(name), [], answer.left)
  const { quota } = answer.right
  const index = nameOf(answer.right.index)
  const known = { ...unasked(name), index, quota: quotaDocumentOf(quota) }
  const said = [
    ...(adapter === undefined ? ["a list is imported"] : []),
    ...(adapter === undefined || adapter.hasNoFreeCall === true ? [] : [reached]),
    ...(quota === undefined ? [] : [leftOf(quota)]),
    ...(index === null ? [] : [`index ${index}`]),
  ]
  if (quota !== undefined && quota.left <= 0 && quota.allowsOverage !== true) {
    const detail = [...said, fixes.Exhausted].join("; ")
    return { ...known, state: "failure", reason: "Exhausted", detail }
  }
  if (adapter === undefined || (!isLive && adapter.hasNoFreeCall !== true)) {
    return { ...known, state: "ok", detail: said.join("; ") }
  }
  if (!isLive) return { ...known, state: "warning", detail: notAsked(name, adapter.price) }
  yield* Console.error(`buying the figures of ${wellKnown.domain} from ${name}: ${adapter.price}`)
  return yield* Effect.match(inTime(call([wellKnown], { account: undefined, requestIds: [] })), {
    onFailure: (error) => failureOf(known, said, error),
    onSuccess: ({ outcomes: [outcome = missing] }) => judged(known, said, outcome, adapter),
  })
})

const judged = (
  known: Omit<Finding, "state" | "detail">,
  said: ReadonlyArray<string>,
  outcome: Outcome,
  adapter: Adapter,
): Finding => {
  const unexpected = misfitOf(adapter, outcome)
  const index = outcome._tag === "Checked" ? nameOf(outcome.index) : null
  return {
    ...known,
    index: known.index ?? index,
    live: { url: wellKnown.url, unexpected },
    state: unexpected === null ? "ok" : "failure",
    detail: [
      ...(said.length === 0 && unexpected === null ? [reached] : said),
      ...(known.index === null && index !== null ? [`index ${index}`] : []),
      unexpected === null ? "answer as expected" : `unexpected answer: ${unexpected}`,
    ].join("; "),
  }
}

/** What is unexpected in the answer for the well-known domain; null when nothing is. */
const misfitOf = ({ gives }: Adapter, outcome: Outcome): string | null => {
  if (outcome._tag === "Failed") return outcome.detail
  const given = { spam_score: outcome.metrics.spamScore, as_of: outcome.index }
  const absent = gives.find((field) => given[field] === undefined)
  return absent === undefined ? null : `the field ${absent} is missing`
}

/** The vendor's name for its index, safe to print. */
const nameOf = (index: string | undefined): string | null =>
  index === undefined ? null : printable(index.slice(0, 100))

const failureOf = (
  known: Omit<Finding, "state" | "detail">,
  said: ReadonlyArray<string>,
  error: ProviderError,
): Finding => ({
  ...known,
  state: "failure",
  reason: error.reason,
  detail: [...said, error.message, ...(known.provider === "dataset" ? [] : [fixOf(error)])].join(
    "; ",
  ),
})

const fixOf = ({ isUnsent, reason }: ProviderError) =>
  (isUnsent === true ? unsentFixes[reason] : undefined) ?? fixes[reason]

const reached = "reachable, key accepted"

const wellKnown = Either.getOrThrow(Target.parse("wikipedia.org"))

const synthetic =
  "its figures are synthetic; for real figures, set AUTHORITY_PROVIDER to another provider, and set the token or password of that provider"

const notAsked = (name: string, price: string) =>
  `not asked: ${name} has no free call; 'authority provider status --live' asks for ${price}`

const leftOf = ({ allotted, allowsOverage, left, resetsAt, unit }: Quota) =>
  [
    `${Math.max(0, left)} of ${allotted} ${unit} are left`,
    resetsAt === null ? "" : ` until ${isoTime(resetsAt)}`,
    allowsOverage === true ? ", and more are billed" : "",
  ].join("")

const fixes: Record<ProviderError["reason"], string> = {
  Unreachable: "check the provider's address in the settings, and the network",
  Timeout: "check the provider's address in the settings, and the network",
  Throttled: "wait, or lower AUTHORITY_PROVIDER_CONCURRENCY",
  Exhausted: "buy more quota or pay the invoice, or wait until the quota is renewed",
  Unavailable:
    "the provider reports that it is unavailable; wait, or add another provider to AUTHORITY_PROVIDER",
  Refused: "check the token or password and the address in the settings, and the subscription",
  Rejected: "the provider rejects the call; check the provider's address in the settings",
  Malformed: "check the provider's address in the settings",
}

/** How to fix what kept the service itself from sending the call. */
const unsentFixes: Partial<typeof fixes> = {
  Throttled: "wait until the pause ends",
  Exhausted: "raise the ceiling, or wait until the month ends",
  Unavailable: "to check the database, run 'authority doctor'",
}
