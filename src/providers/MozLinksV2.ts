/**
 * The Moz Links API v2, for subscriptions of that interface: one row for each target asked about.
 * From Moz's public reference and a capture.
 *
 * The answers carry Moz's own canonical page and no echo, so they are matched by position, which the
 * reference of version 1 promises, and an answer of another length is worth nothing. There is no
 * error for one target either: a 400 fails the call, so the call is halved to find the offender.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../TypeGuard.ts"
import { MetricsProvider, nothingKnown } from "../MetricsProvider.ts"
import { type Ask, failed, inBatchesOf } from "./Batches.ts"
import { checkedBy } from "./Moz.ts"
import * as Wire from "./Wire.ts"

const batchSize = 50

/**
 * `url` is the address of the interface, up to its version. A token with a colon is the access id
 * and the secret of an account from before March 2024.
 */
export const layer = (options: {
  readonly url: string
  readonly token: Redacted.Redacted
}): Layer.Layer<MetricsProvider> => Layer.sync(MetricsProvider, () => make(options))

const make = (options: { readonly url: string; readonly token: Redacted.Redacted }) => {
  const wire = Wire.make({
    provider: "moz-links-v2",
    url: options.url,
    secrets: credentials(options.token),
  })
  const checked = checkedBy(wire.quote)

  const lookup: Ask = (all) => {
    let refusals = 0

    const ask: Ask = Effect.fnUntraced(function* (targets) {
      const json = { targets: targets.map(({ page }) => page) }
      const reply = yield* wire.send({ url: `${options.url}/url_metrics`, json })
      if (reply.status === 400) {
        refusals += 1
        return yield* halve(targets)
      }
      const { results } = yield* wire.decode(reply, decodeAnswer)
      if (results.length !== targets.length) {
        const detail = `${results.length} answers to ${targets.length} targets`
        return yield* wire.error("Malformed", detail)
      }
      return results.map(checked)
    })

    const halve: Ask = (targets) => {
      const [left, right] = Arr.splitAt(targets, Math.ceil(targets.length / 2))
      return refusals < maxRefusals && Arr.isNonEmptyArray(left) && Arr.isNonEmptyArray(right)
        ? inBatchesOf(left.length, ask)(targets)
        : Effect.succeed(targets.map(() => failed("Moz refuses the target")))
    }

    return ask(all)
  }

  return MetricsProvider.of({
    name: "moz-links-v2",
    batchSize,
    known: nothingKnown,
    lookup: inBatchesOf(batchSize, lookup),
  })
}

/** Enough to find one offender among 50; each refusal counts against the account. */
const maxRefusals = 8

const credentials = (token: Redacted.Redacted): Record<string, Redacted.Redacted> => {
  const text = Redacted.value(token)
  return text.includes(":") ? { authorization: Wire.basic(text) } : { "x-moz-token": token }
}

// What Moz says.

const Answer = Schema.Struct({ results: Schema.Array(Schema.Unknown) })

const decodeAnswer = TypeGuard.decoder(Answer)
