/**
 * The provider `http`: an HTTP endpoint that the operator runs. `scripts/http-provider/openapi.json`
 * describes its protocol. Results come in any order and are matched by their URL.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Metrics, metricsOf, missing, Outcome, providerFailed, Score } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"
import * as TypeGuard from "../schema/TypeGuard.ts"
import { vendor } from "./vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

/** `url` is the endpoint. `token` goes into the header `authorization` as a bearer token. */
export const layer = ({
  token,
  url,
}: {
  readonly url: string
  readonly token: Redacted.Redacted
}): Layer.Layer<MetricsProvider> => {
  const http = VendorHttp.make({
    provider: "http",
    url,
    secrets: { authorization: Redacted.make(`Bearer ${Redacted.value(token)}`) },
  })

  /** Makes one call. An empty list only checks the token. */
  const call = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>) {
    const json = { targets: targets.map(({ domain, host, url }) => ({ url, host, domain })) }
    const { results } = yield* http.decode(yield* http.send({ url, json }), decodeAnswer)
    const [[misfit], values] = Arr.partitionMap(results, named)
    const absent =
      misfit === undefined
        ? missing
        : providerFailed(`the provider's answer cannot be read: ${http.misfit(misfit)}`)
    const outcomes = outcomesOf(values, http)
    return targets.map(({ url }) => outcomes.get(url) ?? absent)
  })

  return vendor({
    name: "http",
    batchSize,
    lookup: http.watched(call),
    status: Effect.as(call([]), {}),
  })
}

/** The outcomes by URL. When several results have the same URL, the first one counts. */
const outcomesOf = (
  results: ReadonlyArray<readonly [url: string, result: unknown]>,
  { misfit, quote }: VendorHttp.VendorHttp,
): ReadonlyMap<string, Outcome> => {
  const outcomes = new Map<string, Outcome>()
  for (const [url, result] of results) {
    if (outcomes.has(url)) continue
    outcomes.set(
      url,
      Option.match(decodeFailure(result), {
        onNone: () => checked(result, misfit),
        onSome: ({ error }) => providerFailed(`the provider answered: ${quote(error)}`),
      }),
    )
  }
  return outcomes
}

const named = (result: unknown) =>
  Either.map(decodeNamed(result), ({ url }) => [url, result] as const)

/** Decodes the figures of one target. Invalid figures fail only their own target. */
const checked = (result: unknown, misfit: VendorHttp.VendorHttp["misfit"]): Outcome =>
  Either.match(decodeFigures(result), {
    onLeft: (issue) => providerFailed(`the provider's figures cannot be read: ${misfit(issue)}`),
    onRight: ({ domainAuthority, pageAuthority, spamScore }) =>
      Outcome.Checked({ metrics: metricsOf(domainAuthority, pageAuthority, spamScore) }),
  })

/** Maximum number of targets in one call. */
const batchSize = 50

const decodeAnswer = TypeGuard.decoder(Schema.Struct({ results: Schema.Array(Schema.Unknown) }))
const decodeNamed = TypeGuard.decoder(Schema.Struct({ url: Schema.String }))
const decodeFailure = Schema.decodeUnknownOption(Schema.Struct({ error: Schema.String }))

/** Many languages encode an absent field as null, so a spam score of null means absent. */
const Figures = Schema.Struct({
  ...Metrics.fields,
  spamScore: Schema.optionalWith(Schema.NullOr(Score), { exact: true }),
})
const decodeFigures = TypeGuard.decoder(Figures)
