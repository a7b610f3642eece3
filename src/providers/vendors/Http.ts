/**
 * The provider `http`: an HTTP endpoint that the operator runs. `scripts/http-provider/openapi.json`
 * describes its protocol. Results come in any order and are matched by their URL.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  checkedFrom,
  Metrics,
  metricsOf,
  missing,
  type Outcome,
  providerFailed,
  Score,
} from "../../check/Metrics.ts"
import type { Target } from "../../check/Target.ts"
import * as TypeGuard from "../../database/rows/TypeGuard.ts"
import { type Adapter, required } from "../Adapter.ts"
import { Vendor } from "../Vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

/** `url` is the endpoint. `token` goes into the header `authorization` as a bearer token. */
export const layer = ({
  token,
  url,
}: {
  readonly url: string
  readonly token: Redacted.Redacted
}): Layer.Layer<Vendor> => {
  const http = VendorHttp.make({
    provider: "http",
    url,
    secrets: { authorization: Redacted.make(`Bearer ${Redacted.value(token)}`) },
  })

  /** Makes one call. An empty list only checks the token. */
  const call = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>) {
    const json = { targets: targets.map(({ domain, host, url }) => ({ url, host, domain })) }
    const { index, results } = yield* http.decode(yield* http.send({ url, json }), decodeAnswer)
    const [[misfit], values] = Arr.partitionMap(results, named)
    const absent =
      misfit === undefined
        ? missing
        : providerFailed(`the provider's answer cannot be read: ${http.misfit(misfit)}`)
    const known = outcomesOf(values, index ?? undefined, http)
    const outcomes = targets.map(({ url }) => known.get(url) ?? absent)
    return { outcomes, rows: targets.length, cost: undefined }
  })

  return Layer.succeed(Vendor, {
    name: "http",
    batchSize,
    maxRefusals: Number.POSITIVE_INFINITY,
    billsUnknown: true,
    call: http.watched(call),
    status: Effect.as(call([]), {}),
  })
}

export const adapter: Adapter = {
  fromSettings: (settings) =>
    Effect.all({
      url: required(settings, "httpUrl"),
      token: required(settings, "httpToken"),
    }).pipe(Effect.map(layer)),
  price: "one target",
  gives: [],
}

/** The outcomes by URL. When several results have the same URL, the first one counts. */
const outcomesOf = (
  results: ReadonlyArray<readonly [url: string, result: unknown]>,
  index: string | undefined,
  { misfit, quote }: VendorHttp.VendorHttp,
): ReadonlyMap<string, Outcome> => {
  const outcomes = new Map<string, Outcome>()
  for (const [url, result] of results) {
    if (outcomes.has(url)) continue
    outcomes.set(
      url,
      Option.match(decodeFailure(result), {
        onNone: () => checked(result, index, misfit),
        onSome: (failure) =>
          "error" in failure
            ? providerFailed(`the provider answered: ${quote(failure.error)}`)
            : unknown,
      }),
    )
  }
  return outcomes
}

const named = (result: unknown) =>
  Either.map(decodeNamed(result), ({ url }) => [url, result] as const)

const unknown = providerFailed("the provider does not know the target", "unknown")

/** Decodes the figures of one target. Invalid figures fail only their own target. */
const checked = (
  result: unknown,
  index: string | undefined,
  misfit: VendorHttp.VendorHttp["misfit"],
): Outcome =>
  Either.match(decodeFigures(result), {
    onLeft: (issue) => providerFailed(`the provider's figures cannot be read: ${misfit(issue)}`),
    onRight: ({ domainAuthority, pageAuthority, spamScore }) =>
      checkedFrom(metricsOf(domainAuthority, pageAuthority, spamScore), { index }),
  })

/** Maximum number of targets in one call. */
const batchSize = 50

const decodeAnswer = TypeGuard.decoder(
  Schema.Struct({
    index: Schema.optional(Schema.NullOr(Schema.String)),
    results: Schema.Array(Schema.Unknown),
  }),
)
const decodeNamed = TypeGuard.decoder(Schema.Struct({ url: Schema.String }))
const decodeFailure = Schema.decodeUnknownOption(
  Schema.Union(
    Schema.Struct({ unknown: Schema.Literal(true) }),
    Schema.Struct({ error: Schema.String }),
  ),
)

/** Many languages encode an absent field as null, so a spam score of null means absent. */
const Figures = Schema.Struct({
  ...Metrics.fields,
  spamScore: Schema.optionalWith(Schema.NullOr(Score), { exact: true }),
})
const decodeFigures = TypeGuard.decoder(Figures)
