/**
 * The Moz Links API v2. Each target costs one row. Source: Moz's public reference and a captured
 * answer.
 *
 * A result names Moz's canonical page, not the requested one, so results are matched by position.
 * Moz promises this order for version 1 only. Therefore a different number of results is an error,
 * and so is a page of another registered domain. One bad target fails the whole call with a 400.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../../database/rows/TypeGuard.ts"
import { Target } from "../../check/Target.ts"
import { checkedBy } from "./Moz.ts"
import { type Adapter, required, Vendor } from "../Vendor.ts"
import * as VendorHttp from "./VendorHttp.ts"

/**
 * `url` is the base URL of the API, including its version. A token with a colon consists of the
 * access id and the secret of an account made before March 2024, and is sent as HTTP Basic.
 */
export const layer = (options: {
  readonly url: string
  readonly token: Redacted.Redacted
}): Layer.Layer<Vendor> => {
  const http = VendorHttp.make({
    provider: "moz-links-v2",
    url: options.url,
    secrets: credentials(options.token),
  })
  const checked = checkedBy(http.misfit)

  const call: VendorHttp.Call = Effect.fnUntraced(function* (targets) {
    const json = { targets: targets.map(({ page }) => page) }
    const response = yield* http.send({ url: `${options.url}/url_metrics`, json })
    const { results } = yield* http.decode(response, decodeBody, ["results"])
    if (results.length !== targets.length) {
      const detail = `${results.length} results for ${targets.length} targets`
      return yield* http.error("Malformed", detail)
    }
    const named = results.map(domainOf)
    const wrong = targets.findIndex(({ domain }, i) => (named[i] ?? domain) !== domain)
    if (wrong >= 0) {
      const detail = `the result for ${targets[wrong]?.page} names the domain ${named[wrong]}`
      return yield* http.error("Malformed", detail)
    }
    return { outcomes: results.map(checked), rows: targets.length, cost: undefined }
  })

  const status = Effect.gen(function* () {
    const response = yield* http.send({ url: `${options.url}/index_metadata`, json: {} })
    const { index_id } = yield* http.decode(response, decodeIndex)
    return { index: index_id }
  })

  return Layer.succeed(Vendor, http.vendor({ batchSize: 50, call, status }))
}

export const adapter: Adapter = {
  fromSettings: (settings) =>
    Effect.map(required(settings, "mozLinksV2Token"), (token) =>
      layer({ url: settings.mozLinksV2Url, token }),
    ),
  price: "one row",
  gives: ["spam_score"],
}

const credentials = (token: Redacted.Redacted): Record<string, Redacted.Redacted> => {
  const text = Redacted.value(token)
  return text.includes(":") ? { authorization: VendorHttp.basic(text) } : { "x-moz-token": token }
}

const Body = Schema.Struct({ results: Schema.Array(Schema.Unknown) })

const decodeBody = TypeGuard.decoder(Body)

const decodeIndex = TypeGuard.decoder(Schema.Struct({ index_id: Schema.String }))

const decodePage = Schema.decodeUnknownOption(Schema.Struct({ page: Schema.String }))

/** The registered domain of the page that a result names; undefined when it names none. */
const domainOf = (result: unknown): string | undefined =>
  Option.match(decodePage(result), {
    onNone: () => undefined,
    onSome: ({ page }) => Either.getOrUndefined(Target.parse(page))?.domain ?? page,
  })
