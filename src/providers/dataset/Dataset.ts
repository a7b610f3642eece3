/**
 * Computes figures from an imported ranking. They are free, and cannot be compared with a vendor's.
 *
 * The scale is logarithmic: rank 1 gives 100, rank 10 gives 87.5, and rank 100 million gives 0.
 * Page authority comes from the rank of the host, or else of the domain. A target whose domain is
 * not in the list fails; its figures are not 0.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { checkedFrom, providerFailed } from "../../check/Metrics.ts"
import { ProviderError } from "../MetricsProvider.ts"
import { type Imported, Rankings } from "./Rankings.ts"
import { failWithStoreFailure } from "../../database/StoreFailure.ts"
import { Vendor } from "../Vendor.ts"

export const layer: Layer.Layer<Vendor, never, Rankings> = Layer.effect(
  Vendor,
  Effect.map(Rankings, (rankings) =>
    Vendor.of({
      name: "dataset",
      batchSize: Number.POSITIVE_INFINITY,
      maxRefusals: Number.POSITIVE_INFINITY,
      billsUnknown: false,
      call: Effect.fn("Dataset.call")(function* ([first, ...rest]) {
        const names = new Set(rest.flatMap(({ domain, host }) => [domain, host]))
        const ranks = yield* orUnavailable(rankings.ranks([first.domain, ...names.add(first.host)]))
        const list = Option.map(yield* orUnavailable(rankings.current), nameOf)
        const index = `${Option.getOrElse(list, () => "no list")} (an estimate)`
        const absent = Option.match(list, {
          onNone: () => providerFailed("no list is imported"),
          onSome: (name) => providerFailed(`the domain is not in the list ${name}`, "unknown"),
        })
        const outcomes = [first, ...rest].map(({ domain, host }) => {
          const rank = ranks.get(domain)
          if (rank === undefined) return absent
          const ofHost = ranks.get(host)
          const metrics = {
            domainAuthority: authority(rank),
            pageAuthority: authority(ofHost ?? rank),
          }
          const isOwn = ofHost !== undefined || host === domain
          return checkedFrom(metrics, { index, of: isOwn ? undefined : domain })
        })
        return { outcomes, rows: 0, cost: undefined }
      }),
      status: Effect.gen(function* () {
        const current = yield* orUnavailable(rankings.current)
        if (Option.isNone(current)) {
          return yield* unavailable("no list is imported; run 'authority dataset import'")
        }
        return { index: nameOf(current.value) }
      }),
    }),
  ),
)

const nameOf = ({ at, name }: Imported) =>
  at === null || name === null
    ? "of an earlier version of the service"
    : `${name}, imported ${new Date(at).toISOString()}`

/** Converts a rank to an authority from 0 to 100 with two decimals. */
export const authority = (rank: number): number =>
  Math.max(0, Math.round(10_000 - 1250 * Math.log10(rank)) / 100)

const orUnavailable = <A>(read: Effect.Effect<A>) =>
  read.pipe(
    failWithStoreFailure,
    Effect.mapError(({ message }) => unavailable(message)),
  )

const unavailable = (detail: string) =>
  new ProviderError({ provider: "dataset", reason: "Unavailable", detail })
