/**
 * Open PageRank: a figure for each registered domain, free of charge. From its public reference.
 *
 * It knows domains only: a page gets the authority of its domain, and nothing has a spam score. Its
 * scale is PageRank's, logarithmic, 0 to 10 with two decimals, here times ten. It is popularity by
 * links like a vendor's domain authority, but not the same figure.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../TypeGuard.ts"
import { Outcome } from "../Metrics.ts"
import { MetricsProvider, nothingKnown } from "../MetricsProvider.ts"
import { type Ask, failed, inBatchesOf } from "./Batches.ts"
import * as Wire from "./Wire.ts"

const batchSize = 100

/** `url` is the address of `getPageRank`. */
export const layer = (options: {
  readonly url: string
  readonly key: Redacted.Redacted
}): Layer.Layer<MetricsProvider> => Layer.sync(MetricsProvider, () => make(options))

const make = (options: { readonly url: string; readonly key: Redacted.Redacted }) => {
  const wire = Wire.make({
    provider: "open-page-rank",
    url: options.url,
    secrets: { "api-opr": options.key },
  })

  const ask: Ask = Effect.fnUntraced(function* (targets) {
    const domains = new Set(targets.map(({ domain }) => domain))
    const query = new URLSearchParams()
    for (const domain of domains) query.append("domains[]", domain)
    const reply = yield* wire.send({ url: `${options.url}?${query}` })
    const { response, status_code } = yield* wire.decode(reply, decodeAnswer)
    if (status_code !== 200) {
      return yield* wire.error(Wire.reasonOf(status_code), `status ${status_code}`, reply)
    }
    const outcomes = new Map(response.flatMap((item) => Option.toArray(answerOf(item, wire))))
    return targets.map(
      ({ domain }) => outcomes.get(domain) ?? failed("Open PageRank left it out of its answer"),
    )
  })

  return MetricsProvider.of({
    name: "open-page-rank",
    batchSize,
    known: nothingKnown,
    lookup: inBatchesOf(batchSize, ask),
  })
}

/** An item and its domain; none when it names none. */
const answerOf = (
  item: unknown,
  { quote }: Wire.Wire,
): Option.Option<readonly [domain: string, Outcome]> =>
  Option.map(Schema.decodeUnknownOption(Named)(item), ({ domain, status_code }) => [
    domain.toLowerCase(),
    status_code === 200
      ? Either.match(Schema.decodeUnknownEither(Ranked)(item), {
          onLeft: ({ message }) =>
            failed(`Open PageRank's figure cannot be read: ${quote(message)}`),
          onRight: ({ page_rank_decimal }) => checked(page_rank_decimal * 10),
        })
      : failed(`Open PageRank answered with the status ${status_code}`),
  ])

const checked = (authority: number) =>
  Outcome.Checked({ metrics: { domainAuthority: authority, pageAuthority: authority } })

// What Open PageRank says.

const Answer = Schema.Struct({
  status_code: Schema.Number,
  response: Schema.optionalWith(Schema.Array(Schema.Unknown), { default: () => [] }),
})

const decodeAnswer = TypeGuard.decoder(Answer)

const Named = Schema.Struct({ domain: Schema.String, status_code: Schema.Number })

/** With the status 404 it is 0, and it may be the empty text; neither is a figure. */
const Ranked = Schema.Struct({ page_rank_decimal: Schema.Number.pipe(Schema.between(0, 10)) })
