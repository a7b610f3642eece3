/**
 * The Moz Links API v2, for subscriptions of that API. Each requested target costs one row of the
 * subscription's quota. The facts about the API come from Moz's public reference and a captured
 * answer.
 *
 * A result names Moz's canonical page, not the requested page. So results are matched to targets by
 * position: the first result belongs to the first target. Moz's reference promises this order for
 * version 1 of the API, and this module relies on it for version 2 too. An answer with fewer or
 * more results than targets is an error. One bad target fails the whole call with a 400, so the
 * call is split in halves to find the bad target.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../schema/TypeGuard.ts"
import { providerFailed } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import { type Ask, inChunksOf } from "./Chunks.ts"
import { checkedBy } from "./Moz.ts"
import { vendor } from "./vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

const batchSize = 50

/**
 * `url` is the base URL of the API, including its version. A token with a colon is the access id
 * and the secret of an account that was made before March 2024. Such a token is sent as HTTP Basic.
 */
export const layer = (options: {
  readonly url: string
  readonly token: Redacted.Redacted
}): Layer.Layer<MetricsProvider> => {
  const http = VendorHttp.make({
    provider: "moz-links-v2",
    url: options.url,
    secrets: credentials(options.token),
  })
  const checked = checkedBy(http.quote)

  const lookup: Ask = (all) => {
    let refusals = 0

    const ask: Ask = Effect.fnUntraced(function* (targets) {
      const json = { targets: targets.map(({ page }) => page) }
      const response = yield* http.send({ url: `${options.url}/url_metrics`, json })
      if (response.status === 400) {
        refusals += 1
        return yield* halve(targets)
      }
      const { results } = yield* http.decode(response, decodeBody)
      if (results.length !== targets.length) {
        const detail = `${results.length} results for ${targets.length} targets`
        return yield* http.error("Malformed", detail)
      }
      return results.map(checked)
    })

    const halve: Ask = (targets) => {
      const [left, right] = Arr.splitAt(targets, Math.ceil(targets.length / 2))
      return refusals < maxRefusals && Arr.isNonEmptyArray(left) && Arr.isNonEmptyArray(right)
        ? inChunksOf(left.length, ask)(targets)
        : Effect.succeed(targets.map(() => providerFailed("Moz refuses the target")))
    }

    return ask(all)
  }

  return vendor({ name: "moz-links-v2", batchSize, lookup })
}

/**
 * Maximum number of calls of one lookup that Moz may refuse with a 400: enough to find one bad
 * target among 50. Further 400s could make Moz throttle the whole account.
 */
const maxRefusals = 8

const credentials = (token: Redacted.Redacted): Record<string, Redacted.Redacted> => {
  const text = Redacted.value(token)
  return text.includes(":") ? { authorization: VendorHttp.basic(text) } : { "x-moz-token": token }
}

// Schema of Moz's answer.

const Body = Schema.Struct({ results: Schema.Array(Schema.Unknown) })

const decodeBody = TypeGuard.decoder(Body)
