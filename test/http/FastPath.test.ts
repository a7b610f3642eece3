/** Tests that the fast path and the framework give the same answers, charges and log lines. */
import { assert, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as LogLevel from "effect/LogLevel"
import * as Struct from "effect/Struct"
import type { Answer } from "../support/RawHttp.ts"
import { forAll } from "../support/properties.ts"
import { batch, batchPath, start } from "../support/TestServer.ts"

const url = fc.constantFrom(
  "example.com",
  "https://www.example.org/page",
  "no-spam-score.example.com",
  "provider-error.example.com",
  "server-error.example.com",
  "localhost",
  "EXAMPLE.com",
)

const json = (value: unknown) => JSON.stringify(value)

const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(url, { minLength: 1, maxLength: 5 }).map((urls) => json({ urls })),
  },
  fc.constantFrom(
    "",
    "{}",
    "[",
    "null",
    json({ urls: [] }),
    json({ urls: [""] }),
    json({ urls: [1] }),
  ),
  fc.constantFrom(
    json({ urls: ["bücher.example.com"], more: 1 }),
    "\ufeff" + json({ urls: ["a.com"] }),
  ),
  fc.constantFrom(json({ urls: Array(51).fill("a.com") }), json({ urls: ["a".repeat(1001)] })),
)

// These headers are rare in the generated requests, because most of them end a request early.
const header = (name: string, ...values: ReadonlyArray<string>) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Record<string, string>>({}) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...values)
        .map((value): Record<string, string> => ({ [name]: value })),
    },
  )

const headers = fc
  .tuple(
    header("idempotency-key", '"a"', '"b"', "c", '""', "d e"),
    header("x-max-credits", "0", "2", "100", "-1"),
    header("prefer", "provenance", "respond-async"),
    header("cache-control", "max-age=0", "no-cache"),
    header("content-type", "application/json; charset=utf-8", "text/plain"),
    header("x-api-key", "am_unknown"),
    header("host", "", "example.com"),
    header("content-encoding", "gzip", "identity"),
    header("transfer-encoding", "chunked"),
  )
  .map((all): Record<string, string> => Object.assign({}, ...all))

const changing = ["date", "x-request-id", "ratelimit", "retry-after"] as const

const comparable = ({ headers, status, text }: Answer) => ({
  status,
  headers: Struct.omit(headers, ...changing),
  text: text.replaceAll(/"fetchedAt":"[^"]*"/g, ""),
})

const logged = (line: string) =>
  Struct.omit(JSON.parse(line).annotations, "requestId", "durationMs", "account")

it.scopedLive("the fast path changes no answer, no charge and no log line", () =>
  Effect.gen(function* () {
    const options = {
      credits: 200,
      rateLimit: { requests: 400, per: Duration.hours(1) },
      logLevel: LogLevel.Debug,
    }
    // Each service starts in a fiber of its own, so that it has only its own logger.
    const [fast, plain] = yield* Effect.all([start(options), start(options)], { concurrency: 2 })
    yield* forAll(fc.record({ body, headers }), { numRuns: 500 }, (request) =>
      Effect.gen(function* () {
        const [one, other] = [
          yield* fast.post(request.body, request.headers),
          // The fast path leaves a URL with an empty query to the framework.
          yield* plain.send({
            ...batch(plain.key, request.body, request.headers),
            path: `${batchPath}?`,
          }),
        ]
        assert.deepStrictEqual(comparable(one), comparable(other))
      }),
    )
    assert.deepStrictEqual(yield* fast.books, yield* plain.books)
    assert.deepStrictEqual(fast.log.map(logged), plain.log.map(logged))
  }),
)
