/** Random requests for property tests: most are plain batches, some are unusual. */
import type { Agent, OutgoingHttpHeaders } from "node:http"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import { type Outcome, providerFailed } from "../../src/Metrics.ts"
import { ProviderError } from "../../src/providers/MetricsProvider.ts"
import { figure } from "../../scripts/support/fakeFigure.ts"
import { previewPath } from "../../src/contract/Wire.ts"
import { checked, failed, knowing } from "./ScriptedProvider.ts"
import { batchPath, creditsPath } from "./TestServer.ts"
import type * as RawHttp from "../../scripts/support/RawHttp.ts"

const metrics = (page: string) => ({
  domainAuthority: figure(page, "domain"),
  pageAuthority: figure(page, "page") / 4,
  ...(figure(page, "has spam") > 50 && { spamScore: figure(page, "spam") }),
})

const known = (page: string): Outcome | undefined => {
  if (/^(known|xn--)/.test(page)) return checked(metrics(page))
  if (page.startsWith("unrated")) {
    return providerFailed("it is known to have no figures")
  }
  if (page.startsWith("off-scale")) return checked({ domainAuthority: 101, pageAuthority: 1 })
  return undefined
}

const unavailable = new ProviderError({
  provider: "scripted",
  reason: "Unavailable",
  detail: "the vendor is down",
})

/** A provider that knows some pages, buys others in a millisecond, and fails for some. */
export const newProvider = () =>
  knowing(known, (targets) => {
    const pages = targets.map(({ page }) => page)
    if (pages.some((page) => page.startsWith("down"))) return Effect.fail(unavailable)
    if (pages.some((page) => page.startsWith("broken"))) return Effect.dieMessage("a bug")
    const outcomes = pages.map(
      (page) => known(page) ?? (page.startsWith("failing") ? failed : checked(metrics(page))),
    )
    return Effect.delay(Effect.succeed(outcomes), 1)
  })

export const knownUrls = [
  "known-1.example.com",
  "known-2.example.com",
  "https://known-1.example.com/",
  "HTTP://Known-3.Example.COM/Path?q=1#part",
  "https://known-2.example.com/ü",
  "bücher.example.com",
  "https://known-4.example.com/☃/😀",
  "https://known-5.example.com/\ud800",
  'known-6.example.com/"\\\u007f',
  "unrated.example.com",
  "off-scale.example.com",
]

export const boughtUrls = [
  "bought-1.example.com",
  "https://bought-2.example.com/ü",
  "failing.example.com",
]

const brokenUrls = ["down.example.com", "broken.example.com"]

export const invalidUrls = ["localhost", "::", "192.0.2.1", "ftp://known-1.example.com", " ", "é"]

const refusedUrls = ["", "a".repeat(1001)]

const knownUrl = fc.constantFrom(...knownUrls)

const url = fc.oneof(
  { weight: 12, arbitrary: knownUrl },
  { weight: 3, arbitrary: fc.constantFrom(...boughtUrls) },
  { weight: 3, arbitrary: fc.constantFrom(...invalidUrls) },
  { weight: 1, arbitrary: fc.constantFrom(...brokenUrls) },
)

const urls = fc.oneof(
  { weight: 6, arbitrary: fc.array(knownUrl, { minLength: 1, maxLength: 4 }) },
  { weight: 6, arbitrary: fc.array(url, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: fc.array(url, { minLength: 48, maxLength: 52 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...refusedUrls), fc.array(url))
      .map(([one, all]) => [one, ...all]),
  },
)

/** JSON texts with different spaces, escapes and unknown fields. */
const json = fc.oneof(
  { weight: 6, arbitrary: urls.map((urls) => JSON.stringify({ urls })) },
  { weight: 1, arbitrary: urls.map((urls) => JSON.stringify({ more: [{}], urls }, null, "\t")) },
  {
    weight: 1,
    arbitrary: urls.map((urls) =>
      JSON.stringify({ urls }).replaceAll(
        /[^ -~]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
    ),
  },
)

/** Bodies just above the size limits of the fast path and of the contract. */
const largeBodies = [128 * 1024, 512 * 1024].flatMap((limit) =>
  [limit - 100, limit + 1].map(
    (length) => `{"urls":["known-1.example.com"],"pad":"${"x".repeat(length)}"}`,
  ),
)

const body: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  { weight: 20, arbitrary: json },
  {
    weight: 3,
    arbitrary: fc.constantFrom<string | Uint8Array>(
      "",
      "{",
      "null",
      "[]",
      "{}",
      '{"urls":null}',
      '{"urls":[]}',
      '{"urls":[1,"known-1.example.com"]}',
      '{"urls":{"0":"known-1.example.com","length":1}}',
      '{"__proto__":{"urls":["known-1.example.com"]}}',
      '{"urls":["localhost"],"urls":["known-1.example.com"]}',
      '\ufeff{"urls":["known-1.example.com"]}',
      Buffer.from('{"urls":["known-1.example.com/ü"]}', "latin1"),
      Buffer.from('{"urls":["known-1.example.com"]}', "utf16le"),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...largeBodies) },
)

/** The value of a header. Undefined omits the header; a list sends it several times. */
type Value = string | ReadonlyArray<string> | undefined

const usually = <A>(plain: A, odd: fc.Arbitrary<A>, weight = 12): fc.Arbitrary<A> =>
  fc.oneof({ weight, arbitrary: fc.constant(plain) }, { weight: 1, arbitrary: odd })

/** `own` is replaced by the account's API key. */
const apiKey = usually<Value>(
  "own",
  fc.constantFrom<Value>(undefined, "", "am_unknown", "ownx", "Own", ["own", "own"], [" own", ""]),
)

const idempotencyKey = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  { weight: 8, arbitrary: fc.constantFrom<Value>('"a"', "a", "b", '"b"', '"c d"', '"\\"a"') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Value>("", '""', "two words", "é", "k".repeat(256), ["a", "a"]),
  },
)

const contentType = usually<Value>(
  "application/json",
  fc.constantFrom<Value>(
    undefined,
    "",
    "Application/JSON; charset=utf-8",
    "application/json ;a",
    "application/jsonx",
    "text/plain",
    ["application/json", "text/plain"],
    ["text/plain", "application/json"],
  ),
)

const path = usually(
  batchPath,
  fc.constantFrom(
    `${batchPath}/`,
    batchPath.toUpperCase(),
    `${batchPath}?a=b`,
    `${batchPath}?`,
    `/${batchPath}`,
    `http://localhost${batchPath}`,
    batchPath.replace("batch", "%62atch"),
    creditsPath,
    "/nothing",
  ),
)

export const allowedOrigin = "https://app.example.com"

const more = usually<Readonly<Record<string, string>>>(
  {},
  fc.constantFrom<Readonly<Record<string, string>>>(
    { origin: allowedOrigin },
    { origin: "https://other.example.com" },
    { origin: "" },
    { connection: "close" },
    { accept: "text/plain", "accept-encoding": "gzip" },
    { "x-request-id": "mine" },
    { "x-max-credits": "0" },
    { "x-max-credits": "1" },
    { "x-max-credits": "50" },
    { "x-max-credits": "1.5" },
    { "x-http-method-override": "GET" },
    { connection: "close, upgrade", upgrade: "h2c" },
  ),
  4,
)

const sending = usually<Sending>(
  "whole",
  fc.constantFrom<Sending>("chunked", "pieces", "chunked pieces", "after 100 Continue"),
  4,
)

type Sending = "whole" | "chunked" | "pieces" | "chunked pieces" | "after 100 Continue"

export interface Ask {
  readonly method: string
  readonly path: string
  readonly apiKey: Value
  readonly idempotencyKey: Value
  readonly contentType: Value
  readonly more: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  readonly sending: Sending
  readonly isUpperCase: boolean
}

const batchAsk: fc.Arbitrary<Ask> = fc.record({
  method: usually("POST", fc.constantFrom("GET", "PUT", "OPTIONS", "HEAD"), 30),
  path,
  apiKey,
  idempotencyKey,
  contentType,
  more,
  body,
  sending,
  isUpperCase: usually(false, fc.constant(true)),
})

/** An ordinary batch. */
export const plain = (...urls: ReadonlyArray<string>): Ask => ({
  method: "POST",
  path: batchPath,
  apiKey: "own",
  idempotencyKey: undefined,
  contentType: "application/json",
  more: {},
  body: JSON.stringify({ urls }),
  sending: "whole",
  isUpperCase: false,
})

const creditsAsk: Ask = { ...plain(), method: "GET", path: creditsPath, body: "" }

export const previewOf = (ask: Ask): Ask => ({ ...ask, path: previewPath })

export const ask: fc.Arbitrary<Ask> = fc.oneof(
  { weight: 12, arbitrary: batchAsk },
  { weight: 4, arbitrary: batchAsk.map(previewOf) },
  { weight: 1, arbitrary: fc.constant(creditsAsk) },
)

/** Converts the request to the form that is sent. */
export const requestOf = (ask: Ask, key: string, agent?: Agent): RawHttp.Request => {
  const { body, method, path } = ask
  // With Connection: close, a piece that is sent after the answer would destroy the answer.
  const sending = ask.more["connection"] === undefined ? ask.sending : "whole"
  const own = (value: Value): Value =>
    typeof value === "string"
      ? value.replace("own", key)
      : value?.map((one) => one.replace("own", key))
  const isChunked = sending.startsWith("chunked")
  const headers: Readonly<Record<string, Value>> = {
    "x-api-key": own(ask.apiKey),
    "idempotency-key": ask.idempotencyKey,
    "content-type": ask.contentType,
    ...ask.more,
    ...(isChunked
      ? { "transfer-encoding": "chunked" }
      : { "content-length": String(Buffer.byteLength(body)) }),
    ...(sending === "after 100 Continue" && { expect: "100-continue" }),
  }
  const spelled: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue
    spelled[ask.isUpperCase ? name.toUpperCase() : name] =
      typeof value === "string" ? value : [...value]
  }
  return {
    method,
    path,
    headers: spelled,
    body: sending.endsWith("pieces") ? piecesOf(body) : body,
    ...(agent !== undefined && { agent }),
  }
}

const piecesOf = (body: string | Uint8Array) => {
  const bytes = Buffer.from(body)
  const third = Math.ceil(bytes.length / 3)
  return [0, 1, 2]
    .map((i) => bytes.subarray(i * third, (i + 1) * third))
    .filter(({ length }) => length > 0)
}
