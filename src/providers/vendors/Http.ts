/**
 * The provider `http`: an HTTP endpoint that the operator runs. `scripts/http-provider/openapi.json`
 * describes its protocol. Results come in any order and are matched by their URL.
 */
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
import { type Adapter, required, Vendor } from "../Vendor.ts"
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
    const { misfit, values } = http.decodeAll(results, named)
    // When several results have the same URL, the first one counts.
    const resultOf = new Map(values.toReversed())
    const absent = misfit === undefined ? missing : providerFailed(`${unreadable}: ${misfit}`)
    const outcomes = targets.map((target) =>
      resultOf.has(target.url)
        ? outcomeOf(resultOf.get(target.url), index ?? undefined, http)
        : absent,
    )
    return { outcomes, rows: targets.length, cost: undefined }
  })

  return Layer.succeed(
    Vendor,
    http.vendor({ batchSize: 50, call, status: Effect.as(call([]), {}) }),
  )
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

const named = (result: unknown) =>
  Either.map(decodeNamed(result), ({ url }) => [url, result] as const)

const unreadable = "the provider's answer cannot be read"

const outcomeOf = (
  result: unknown,
  index: string | undefined,
  { misfit, quote }: VendorHttp.VendorHttp,
): Outcome => {
  const failure = Option.getOrUndefined(decodeFailure(result))
  if (failure !== undefined) {
    return "error" in failure
      ? providerFailed(`the provider answered: ${quote(failure.error)}`)
      : providerFailed("the provider does not know the target", "unknown")
  }
  return Either.match(decodeFigures(result), {
    onLeft: (issue) => providerFailed(`the provider's figures cannot be read: ${misfit(issue)}`),
    onRight: ({ domainAuthority, pageAuthority, spamScore }) =>
      checkedFrom(metricsOf(domainAuthority, pageAuthority, spamScore), { index }),
  })
}

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
