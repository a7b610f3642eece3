/**
 * DataForSEO's backlinks interface: ranks and spam scores, in two calls. From its public reference.
 *
 * Its rank is a PageRank of its own index, on 0 to 1000; asked for the scale `one_hundred` it comes
 * as 0 to 100, logarithmic by the vendor's own formula. The rank of the registered domain serves as
 * domain authority, that of the page as page authority, and the domain's spam score as spam score.
 * They rise and fall with Moz's figures but are not those, and 0 says that the index holds no
 * backlinks, be the site new or unknown. A page that is not in the answer has no figures at all.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../TypeGuard.ts"
import { metricsOf, Outcome, Score } from "../Metrics.ts"
import { MetricsProvider, nothingKnown, type ProviderError } from "../MetricsProvider.ts"
import { Target } from "../Target.ts"
import { type Ask, failed, inBatchesOf } from "./Batches.ts"
import * as Wire from "./Wire.ts"

/** A call takes 1000 names, and a target is two: its domain and its page. */
const batchSize = 500

interface Options {
  /** The address of the interface, up to its version. */
  readonly url: string
  readonly login: string
  readonly password: Redacted.Redacted
}

export const layer = (options: Options): Layer.Layer<MetricsProvider> =>
  Layer.sync(MetricsProvider, () => make(options))

const make = ({ login, password, url }: Options) => {
  const wire = Wire.make({
    provider: "dataforseo",
    url,
    secrets: { authorization: Wire.basic(`${login}:${Redacted.value(password)}`) },
  })

  /** The items of the one task that a call consists of. */
  const call = Effect.fnUntraced(function* (path: string, task: object) {
    const reply = yield* wire.send({ url: `${url}/backlinks/${path}/live`, json: [task] })
    const answer = yield* wire.decode(reply, decodeAnswer)
    const [first] = answer.tasks
    for (const { status_code, status_message } of [answer, ...(first ? [first] : [])]) {
      if (status_code !== ok) {
        const detail = `${status_code}: ${status_message ?? ""}`
        return yield* wire.error(reasonOf(status_code), detail, reply)
      }
    }
    if (first === undefined) return yield* wire.error("Malformed", "the answer has no task")
    return (first.result ?? []).flatMap(({ items }) => items ?? [])
  })

  const ranks = (targets: ReadonlyArray<string>) =>
    Effect.map(call("bulk_ranks", { targets, rank_scale: "one_hundred" }), figures(Rank))

  const spamScores = (targets: ReadonlyArray<string>) =>
    Effect.map(call("bulk_spam_score", { targets }), figures(SpamScore))

  const ask: Ask = Effect.fnUntraced(function* (targets) {
    const domains = [...new Set(targets.map(({ domain }) => domain))]
    const [rankOf, spamScoreOf] = yield* Effect.all(
      [
        ranks([...domains, ...targets.map((target) => target.url)]),
        // Figures without it are better than none.
        Effect.catchAll(spamScores(domains), withoutSpamScores),
      ],
      { concurrency: 2 },
    )
    return targets.map((target): Outcome => {
      const domainAuthority = rankOf.get(target.domain)
      const pageAuthority = rankOf.get(target.url)
      if (domainAuthority === undefined || pageAuthority === undefined) {
        return failed("DataForSEO has no figures for it")
      }
      return Outcome.Checked({
        metrics: metricsOf(domainAuthority, pageAuthority, spamScoreOf.get(target.domain)),
      })
    })
  })

  return MetricsProvider.of({
    name: "dataforseo",
    batchSize,
    known: nothingKnown,
    lookup: inBatchesOf(batchSize, ask),
  })
}

type Figures = ReadonlyMap<string, number>

const withoutSpamScores = (error: ProviderError): Effect.Effect<Figures> =>
  Effect.as(Effect.logWarning("There are no spam scores.", error.message), new Map())

/** The figures that can be read, each by the name it was asked for under. */
const figures =
  <I>(Item: Schema.Schema<Figure, I>) =>
  (items: ReadonlyArray<unknown>): Figures =>
    new Map(
      items.flatMap((item) =>
        Option.toArray(Schema.decodeUnknownOption(Item)(item)).map(({ figure, target }) => [
          nameOf(target),
          figure,
        ]),
      ),
    )

/** Pages are absolute and domains are not, so `example.com` is never taken for its front page. */
const nameOf = (target: string): string =>
  /^https?:/i.test(target)
    ? Option.match(Option.getRight(Target.parse(target)), {
        onNone: () => target,
        onSome: ({ url }) => url,
      })
    : target.toLowerCase()

const ok = 20000

/** The first three digits are those of HTTP; these two are its limits per minute and at a time. */
const reasonOf = (code: number): ProviderError["reason"] =>
  code === 40202 || code === 40209 ? "Throttled" : Wire.reasonOf(Math.floor(code / 100))

// What DataForSEO says.

const Status = {
  status_code: Schema.Number,
  status_message: Schema.optionalWith(Schema.String, { nullable: true }),
}

const Answer = Schema.Struct({
  ...Status,
  tasks: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({
        ...Status,
        result: Schema.NullishOr(
          Schema.Array(Schema.Struct({ items: Schema.NullishOr(Schema.Array(Schema.Unknown)) })),
        ),
      }),
    ),
    { nullable: true, default: () => [] },
  ),
})

const decodeAnswer = TypeGuard.decoder(Answer)

interface Figure {
  readonly target: string
  readonly figure: number
}

const Rank = Schema.Struct({
  target: Schema.String,
  figure: Schema.propertySignature(Score).pipe(Schema.fromKey("rank")),
})

const SpamScore = Schema.Struct({
  target: Schema.String,
  figure: Schema.propertySignature(Score).pipe(Schema.fromKey("spam_score")),
})
