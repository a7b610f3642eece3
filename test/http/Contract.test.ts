/** The HTTP contract, one status code at a time, checked on the wire. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { AccountName } from "../../src/Account.ts"
import { ApiKeys } from "../../src/ApiKeys.ts"
import * as ApiKey from "../../src/ApiKey.ts"
import { previewPath } from "../../src/contract/Wire.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import { checked, figures, make, succeeding } from "../support/ScriptedProvider.ts"
import {
  batch,
  batchPath,
  creditsPath,
  memoryLedger,
  shared,
  start,
} from "../support/TestServer.ts"
import { type Answer, request } from "../../scripts/support/RawHttp.ts"
import { eventually } from "../../scripts/support/eventually.ts"

const running = shared()

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Checks the status, the body, the headers for type and length, and the request id. */
const expectJson = (answer: Answer, status: number, body: unknown) => {
  assert.deepStrictEqual([answer.status, JSON.parse(answer.text)], [status, body])
  assert.strictEqual(answer.headers["content-type"], "application/json")
  assert.strictEqual(answer.headers["content-length"], String(Buffer.byteLength(answer.text)))
  assert.match(String(answer.headers["x-request-id"]), uuid)
}

const failure = (message: string) => ({ success: false, message })

const unauthorized = failure("The API key is invalid or expired. Send it in the header x-api-key.")

interface Issue {
  readonly message: string
  readonly path: ReadonlyArray<string>
}

const advice = "Send the header Content-Type: application/json and a valid JSON body."

const invalid = (first: Issue, ...others: ReadonlyArray<Issue>) => {
  const violation = [...(first.path.length === 0 ? [] : [first.path.join(".")]), first.message]
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`
  return {
    ...failure(`${violation.join(": ")}${more}. ${advice}`),
    error: { issues: [first, ...others], name: "ValidationError" },
  }
}

const contentTypeIssue = {
  code: "invalid_content_type",
  message: "The header Content-Type must be application/json",
  path: [],
}

const jsonIssue = (message: string) => ({ code: "invalid_json", message, path: [] })

const typeIssue = (expected: string, received: string, path: ReadonlyArray<string>) => ({
  code: "invalid_type",
  expected,
  received,
  message: `Expected ${expected}, received ${received}`,
  path,
})

const required = (expected: string, path: ReadonlyArray<string>) => ({
  ...typeIssue(expected, "undefined", path),
  message: "Required",
})

const tooSmall = (type: "array" | "string", path: ReadonlyArray<string>) => ({
  code: "too_small",
  minimum: 1,
  type,
  message:
    type === "array"
      ? "Array must contain at least 1 element(s)"
      : "String must contain at least 1 character(s)",
  inclusive: true,
  exact: false,
  path,
})

const tooBig = (type: "array" | "string", path: ReadonlyArray<string>) => ({
  code: "too_big",
  maximum: type === "array" ? 50 : 1000,
  type,
  message:
    type === "array"
      ? "Array must contain at most 50 element(s)"
      : "String must contain at most 1000 character(s)",
  inclusive: true,
  exact: false,
  path,
})

const success = (url: string, metrics: unknown = figures) => ({ url, ...Object(metrics) })

describe("status 200", () => {
  it.scopedLive(
    "a batch answer has the outcome of each URL in the request's order and spelling",
    () =>
      Effect.gen(function* () {
        const scripted = make((targets) =>
          Effect.succeed(
            targets.map((_, i) =>
              checked(i === 0 ? figures : { domainAuthority: 0, pageAuthority: 100 }),
            ),
          ),
        )
        const { books, check } = yield* start({ provider: scripted.layer })
        const answer = yield* check([
          " HTTPS://Example.COM/ ",
          "localhost",
          "münchen.de/ü?q=ä#f",
          "not a url",
          "EXAMPLE.com",
        ])
        expectJson(answer, 200, {
          success: true,
          data: {
            successUrls: [
              success(" HTTPS://Example.COM/ "),
              success("münchen.de/ü?q=ä#f", { domainAuthority: 0, pageAuthority: 100 }),
              success("EXAMPLE.com"),
            ],
            failedUrls: [
              { url: "localhost", reason: "INVALID_URL" },
              { url: "not a url", reason: "INVALID_URL" },
            ],
          },
          quota: { creditsUsed: 3 },
        })
        assert.deepStrictEqual(yield* books, { available: 997, held: 0, charged: 3 })
      }),
  )

  it.scopedLive(
    "a batch answer names each failure reason, and omits a spam score that the provider lacks",
    () =>
      Effect.gen(function* () {
        const { check } = yield* start()
        const answer = yield* check([
          "provider-error.example.com",
          "server-error.example.com",
          "10.0.0.1",
          "no-spam-score.example.com",
          "example.com",
        ])
        assert.strictEqual(answer.status, 200)
        const { data, quota } = JSON.parse(answer.text)
        assert.deepStrictEqual(data.failedUrls, [
          { url: "provider-error.example.com", reason: "PROVIDER_ERROR" },
          { url: "server-error.example.com", reason: "SERVER_ERROR" },
          { url: "10.0.0.1", reason: "INVALID_URL" },
        ])
        assert.deepStrictEqual(
          data.successUrls.map((item: object) => Object.keys(item)),
          [
            ["url", "domainAuthority", "pageAuthority"],
            ["url", "domainAuthority", "pageAuthority", "spamScore"],
          ],
        )
        assert.deepStrictEqual(quota, { creditsUsed: 2 })
      }),
  )

  it.scopedLive("a batch without a valid URL is answered with 200 and is free of charge", () =>
    Effect.gen(function* () {
      const { check, credits } = yield* start({ credits: 0 })
      expectJson(yield* check(["localhost"]), 200, {
        success: true,
        data: { successUrls: [], failedUrls: [{ url: "localhost", reason: "INVALID_URL" }] },
        quota: { creditsUsed: 0 },
      })
      expectJson(yield* credits, 200, { success: true, data: { availableCredits: 0 } })
    }),
  )

  it.scopedLive("the available credits do not include credits on hold", () =>
    Effect.gen(function* () {
      const provider = make(() => Effect.never)
      const { check, credits } = yield* start({ provider: provider.layer, price: 3, credits: 10 })
      expectJson(yield* credits, 200, { success: true, data: { availableCredits: 10 } })
      yield* Effect.forkScoped(check(["example.com"]))
      yield* eventually("the provider is asked", () => provider.calls.length === 1)
      expectJson(yield* credits, 200, { success: true, data: { availableCredits: 7 } })
    }),
  )

  it.scopedLive("creditsUsed is the number of successes times the price", () =>
    Effect.gen(function* () {
      const { check, credits } = yield* start({ price: 7, credits: 21 })
      const answer = yield* check(["example.com", "example.org", "provider-error.example.com"])
      assert.deepStrictEqual(JSON.parse(answer.text).quota, { creditsUsed: 14 })
      expectJson(yield* credits, 200, { success: true, data: { availableCredits: 7 } })
    }),
  )

  for (const contentType of [
    "application/json",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "Application/JSON ; charset=utf-8",
  ]) {
    it.scopedLive(`the Content-Type ${contentType} is accepted`, () =>
      Effect.gen(function* () {
        const { post } = yield* start()
        const answer = yield* post('{"urls":["example.com"]}', { "content-type": contentType })
        assert.strictEqual(answer.status, 200)
      }),
    )
  }

  it.scopedLive("unknown fields in the request body are ignored, also __proto__", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ provider: make(succeeding).layer })
      const deep = `${"[".repeat(9000)}${"]".repeat(9000)}`
      const text = JSON.stringify('[{:\\"'.repeat(3000))
      const answer = yield* post(
        `{"__proto__":{"urls":[]},"constructor":1,"urls":["example.com"],"deep":${deep},"text":${text}}`,
      )
      expectJson(answer, 200, {
        success: true,
        data: { successUrls: [success("example.com")], failedUrls: [] },
        quota: { creditsUsed: 1 },
      })
    }),
  )

  it.scopedLive("a byte order mark before a request body is ignored", () =>
    Effect.gen(function* () {
      const { post } = yield* running
      assert.strictEqual((yield* post('\ufeff{"urls":["localhost"]}')).status, 200)
    }),
  )

  it.scopedLive("a batch of 50 URLs is accepted, and each repeated URL is charged", () =>
    Effect.gen(function* () {
      const { check } = yield* start()
      const answer = yield* check(Array.from({ length: 50 }, () => "example.com"))
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(JSON.parse(answer.text).data.successUrls.length, 50)
      assert.strictEqual(JSON.parse(answer.text).quota.creditsUsed, 50)
    }),
  )

  for (const [name, url] of [
    ["1 character", "a"],
    ["1,000 letters", `example.com/${"a".repeat(988)}`],
    ["1,000 code units of astral characters", "😀".repeat(500)],
  ] as const) {
    it.scopedLive(`a URL of ${name} is accepted and echoed unchanged`, () =>
      Effect.gen(function* () {
        const { check } = yield* start()
        const answer = yield* check([url])
        assert.strictEqual(answer.status, 200)
        const { successUrls, failedUrls } = JSON.parse(answer.text).data
        assert.deepStrictEqual(
          [...successUrls, ...failedUrls].map((item) => item.url),
          [url],
        )
      }),
    )
  }

  it.scopedLive("a lone surrogate and a null character in a URL are echoed unchanged", () =>
    Effect.gen(function* () {
      const { post } = yield* start()
      const answer = yield* post('{"urls":["\\ud83d.example.com","a\\u0000b"]}')
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(JSON.parse(answer.text).data.failedUrls, [
        { url: "\ud83d.example.com", reason: "INVALID_URL" },
        { url: "a\u0000b", reason: "INVALID_URL" },
      ])
    }),
  )

  for (const suffix of ["?a=b", "?", "/", "/?a=b"]) {
    it.scopedLive(
      `a POST to ${batchPath}${suffix} gets the same answer as a POST to ${batchPath}`,
      () =>
        Effect.gen(function* () {
          const { key, send } = yield* start()
          const answer = yield* send({
            ...batch(key, '{"urls":["localhost"]}'),
            path: `${batchPath}${suffix}`,
          })
          assert.strictEqual(answer.status, 200)
        }),
    )
  }

  for (const path of [
    `http://localhost${creditsPath}`,
    `HTTP://localhost${creditsPath}?a=b`,
    creditsPath.replace("quota", "%71uota"),
    creditsPath.toUpperCase(),
    `/${creditsPath}`,
  ]) {
    it.scopedLive(`the target ${path} is the path of the available credits`, () =>
      Effect.gen(function* () {
        const { key, send } = yield* running
        const answer = yield* send({ path, headers: { "x-api-key": key } })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(answer.headers["cache-control"], "no-store")
      }),
    )
  }

  it.scopedLive("HEAD gets the same headers as GET and no body", () =>
    Effect.gen(function* () {
      const { credits, key, send } = yield* start()
      const get = yield* credits
      const head = yield* send({
        method: "HEAD",
        path: creditsPath,
        headers: { "x-api-key": key },
      })
      assert.strictEqual(head.status, 200)
      assert.strictEqual(head.text, "")
      assert.strictEqual(head.headers["content-type"], get.headers["content-type"])
      assert.strictEqual(head.headers["content-length"], get.headers["content-length"])
    }),
  )

  for (const kilobytes of [50, 80, 120, 500]) {
    it.scopedLive(`a valid request body of ${kilobytes} kB gets 200`, () =>
      Effect.gen(function* () {
        const { post } = yield* start()
        const answer = yield* post('{"urls":["example.com"]}'.padEnd(kilobytes * 1000))
        assert.strictEqual(answer.status, 200, answer.text)
      }),
    )
  }
})

describe("status 400", () => {
  for (const [name, contentType] of [
    ["no Content-Type", undefined],
    ["the Content-Type application/json-evil", "application/json-evil"],
    ["the Content-Type application/jsonp", "application/jsonp"],
    ["the Content-Type text/plain", "text/plain"],
    ["the Content-Type of a form", "application/x-www-form-urlencoded"],
    ["the Content-Type of a multipart form", "multipart/form-data; boundary=x"],
    ["the Content-Type text/html; application/json", "text/html; application/json"],
    ["an empty Content-Type", ""],
  ] as const) {
    it.scopedLive(`a batch request with ${name} gets 400 and is not charged`, () =>
      Effect.gen(function* () {
        const { books, key, send } = yield* start()
        const headers = {
          "x-api-key": key,
          ...(contentType === undefined ? {} : { "content-type": contentType }),
        }
        const body = '{"urls":["example.com"]}'
        const answer = yield* send({ method: "POST", path: batchPath, headers, body })
        expectJson(answer, 400, invalid(contentTypeIssue))
        assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
      }),
    )
  }

  for (const [name, body, message] of [
    ["zero bytes", "", "The body is not valid JSON"],
    ["plain text", "hello", "The body is not valid JSON"],
    ["half a JSON document", '{"urls":["example.com"', "The body is not valid JSON"],
    ["two JSON documents", '{"urls":["example.com"]}{}', "The body is not valid JSON"],
    ["JSON with single quotes", "{'urls':['example.com']}", "The body is not valid JSON"],
    ["JSON with NaN", '{"urls":[NaN]}', "The body is not valid JSON"],
    ["10,000 open brackets", "[".repeat(10_000), "The body is not valid JSON"],
    ["100,000 open brackets", "[".repeat(100_000), "The body is not valid JSON"],
    ["UTF-16", Buffer.from('{"urls":["example.com"]}', "utf16le"), "The body is not valid JSON"],
    [
      "bytes that are not UTF-8",
      Buffer.from('{"urls":["\xff.com"]}', "latin1"),
      "The body is not UTF-8",
    ],
  ] as const) {
    it.scopedLive(`a request body of ${name} gets 400`, () =>
      Effect.gen(function* () {
        const { post } = yield* running
        expectJson(yield* post(body), 400, invalid(jsonIssue(message)))
      }),
    )
  }

  for (const [name, body, first, ...others] of [
    ["null in place of an object", "null", typeIssue("object", "null", [])],
    ["an array in place of an object", '["example.com"]', typeIssue("object", "array", [])],
    ["a string in place of an object", '"example.com"', typeIssue("object", "string", [])],
    ["no field urls", "{}", required("array", ["urls"])],
    [
      "the field urls only in __proto__",
      '{"__proto__":{"urls":["a.com"]}}',
      required("array", ["urls"]),
    ],
    ["urls that are null", '{"urls":null}', typeIssue("array", "null", ["urls"])],
    ["urls that are a string", '{"urls":"a.com"}', typeIssue("array", "string", ["urls"])],
    ["urls that are an object", '{"urls":{"0":"a"}}', typeIssue("array", "object", ["urls"])],
    ["an empty list of URLs", '{"urls":[]}', tooSmall("array", ["urls"])],
    ["an empty URL", '{"urls":["a.com",""]}', tooSmall("string", ["urls", "1"])],
    ["a number in place of a URL", '{"urls":[7]}', typeIssue("string", "number", ["urls", "0"])],
    [
      "several violations",
      JSON.stringify({ urls: ["", "a.com", null, "a".repeat(1001), true, ["b.com"]] }),
      tooSmall("string", ["urls", "0"]),
      typeIssue("string", "null", ["urls", "2"]),
      tooBig("string", ["urls", "3"]),
      typeIssue("string", "boolean", ["urls", "4"]),
      typeIssue("string", "array", ["urls", "5"]),
    ],
    [
      "51 URLs",
      JSON.stringify({ urls: Array.from({ length: 51 }, () => "a.com") }),
      tooBig("array", ["urls"]),
    ],
    [
      "10,001 URLs",
      JSON.stringify({ urls: Array(10_001).fill("a.com") }),
      tooBig("array", ["urls"]),
    ],
    ["a URL of 1,001 letters", `{"urls":["${"a".repeat(1001)}"]}`, tooBig("string", ["urls", "0"])],
    [
      "a URL of 501 astral characters",
      `{"urls":["${"😀".repeat(501)}"]}`,
      tooBig("string", ["urls", "0"]),
    ],
  ] as const) {
    it.scopedLive(`a request body with ${name} gets 400 and the violated rules`, () =>
      Effect.gen(function* () {
        const { post } = yield* running
        expectJson(yield* post(body), 400, invalid(first, ...others))
      }),
    )
  }

  it.scopedLive(
    "the message of a 400 names the first violation, the number of further violations, and the advice",
    () =>
      Effect.gen(function* () {
        const { check } = yield* start()
        const answer = yield* check(["a.com", 7, "", null])
        assert.strictEqual(
          JSON.parse(answer.text).message,
          `urls.1: Expected string, received number (and 2 more). ${advice}`,
        )
      }),
  )

  it.scopedLive(
    "a 400 reports both that a list is too long and which of its URLs are invalid",
    () =>
      Effect.gen(function* () {
        const { check } = yield* start()
        const answer = yield* check(["", ...Array.from({ length: 50 }, () => "a.com"), 7])
        assert.strictEqual(answer.status, 400)
        assert.sameDeepMembers(JSON.parse(answer.text).error.issues, [
          tooBig("array", ["urls"]),
          tooSmall("string", ["urls", "0"]),
          typeIssue("string", "number", ["urls", "51"]),
        ])
      }),
  )
})

describe("status 401", () => {
  const malformed = {
    "no API key": undefined,
    "an empty API key": "",
    "an unknown API key": "am_0000000000000000000000000000000000000000000000000",
    "an API key of 4,096 characters": "k".repeat(4096),
    "a bearer token as its API key": "Bearer abc",
  }
  for (const [name, key] of Object.entries(malformed)) {
    it.scopedLive(`a request with ${name} gets 401`, () =>
      Effect.gen(function* () {
        const { send } = yield* running
        const headers = key === undefined ? {} : { "x-api-key": key }
        expectJson(yield* send({ path: creditsPath, headers }), 401, unauthorized)
        const post = { method: "POST", path: batchPath, headers, body: "not JSON" }
        expectJson(yield* send(post), 401, unauthorized)
      }),
    )
  }

  it.scopedLive("a revoked or expired API key gets 401", () =>
    Effect.gen(function* () {
      const { account, check, credits, keyId, keys, url } = yield* start()
      assert.strictEqual((yield* credits).status, 200)
      yield* keys.revoke(keyId)
      expectJson(yield* credits, 401, unauthorized)
      expectJson(yield* check(["example.com"]), 401, unauthorized)
      const expired = yield* keys.issue({ account, expiresIn: Duration.zero })
      const headers = { "x-api-key": Redacted.value(expired.key) }
      expectJson(yield* request(url, { path: creditsPath, headers }), 401, unauthorized)
      const usable = yield* keys.issue({ account, expiresIn: Duration.hours(1) })
      const answer = yield* request(url, {
        path: creditsPath,
        headers: { "x-api-key": Redacted.value(usable.key) },
      })
      assert.strictEqual(answer.status, 200)
    }),
  )

  it.scopedLive("a wrong API key gets 401 even if the body is invalid or too large", () =>
    Effect.gen(function* () {
      const { send } = yield* running
      for (const body of ["", "{", '{"urls":[]}', "x".repeat(600_000)]) {
        expectJson(yield* send(batch("am_wrong", body)), 401, unauthorized)
        const plain = { ...batch("am_wrong", body, { "content-type": "text/plain" }) }
        expectJson(yield* send(plain), 401, unauthorized)
      }
    }),
  )

  it.scopedLive("an API key in the query or in a bearer header gets 401", () =>
    Effect.gen(function* () {
      const { key, send } = yield* running
      const inQuery = { path: `${creditsPath}?x-api-key=${key}` }
      expectJson(yield* send(inQuery), 401, unauthorized)
      const bearer = { path: creditsPath, headers: { authorization: `Bearer ${key}` } }
      expectJson(yield* send(bearer), 401, unauthorized)
    }),
  )
})

describe("status 402", () => {
  it.scopedLive(
    "a batch that the account cannot pay for gets 402 with the credits needed and available, and no provider is called",
    () =>
      Effect.gen(function* () {
        const provider = make(succeeding)
        const options = { provider: provider.layer, price: 3, credits: 5 }
        const { books, check } = yield* start(options)
        const message = "This request needs 6 credits and the account has 5."
        const answer = yield* check(["example.com", "localhost", "example.com"])
        expectJson(answer, 402, failure(message))
        assert.deepStrictEqual(provider.calls, [])
        assert.deepStrictEqual(yield* books, { available: 5, held: 0, charged: 0 })
      }),
  )

  it.scopedLive("a batch that got 402 succeeds after a grant of the missing credits", () =>
    Effect.gen(function* () {
      const { account, check, ledger } = yield* start({ credits: 1 })
      const urls = ["example.com", "example.org"]
      assert.strictEqual((yield* check(urls)).status, 402)
      yield* ledger.grant(account, Credits.make(1), null)
      assert.strictEqual((yield* check(urls)).status, 200)
      assert.strictEqual((yield* check(urls)).status, 402)
    }),
  )

  it.scopedLive("an invalid body gets 400 even if the account has no credits", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ credits: 0 })
      assert.strictEqual((yield* post('{"urls":[]}')).status, 400)
      assert.strictEqual((yield* post('{"urls":["example.com"]}')).status, 402)
    }),
  )
})

describe("status 404", () => {
  for (const path of [
    "/v1",
    "/v2/quota/available-credits",
    "/v1/metrics",
    "/v1/quota/../quota/available-creditz",
    "/v1/quota/available%2Dcredit",
    "/%",
    "/%ff",
    "/constructor",
    "/__proto__",
  ]) {
    it.scopedLive(`the path ${path} gets 404 with and without an API key`, () =>
      Effect.gen(function* () {
        const { key, send } = yield* running
        for (const headers of [{}, { "x-api-key": key }]) {
          const answer = yield* send({ path, headers })
          expectJson(answer, 404, failure("There is nothing at this path."))
        }
      }),
    )
  }
})

describe("status 405", () => {
  for (const [path, allow] of [
    [batchPath, "POST"],
    [previewPath, "POST"],
    [creditsPath, "GET"],
    ["/openapi.json", "GET"],
  ] as const) {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      if (method === allow) continue
      it.scopedLive(`${method} ${path} gets 405, and the Allow header names ${allow}`, () =>
        Effect.gen(function* () {
          const { send } = yield* running
          for (const suffix of ["", "?a=b"]) {
            const answer = yield* send({ method, path: path + suffix })
            expectJson(answer, 405, failure(`This path takes ${allow}, not ${method}.`))
            assert.strictEqual(answer.headers.allow, allow)
          }
        }),
      )
    }
  }

  it.scopedLive("HEAD on a path that only takes POST gets 405", () =>
    Effect.gen(function* () {
      const { send } = yield* running
      const answer = yield* send({ method: "HEAD", path: batchPath })
      assert.strictEqual(answer.status, 405)
      assert.strictEqual(answer.headers.allow, "POST")
      assert.strictEqual(answer.text, "")
    }),
  )
})

describe("status 413", () => {
  const tooLarge = failure("The body exceeds the limit of 524288 bytes.")

  it.scopedLive("a body of 5 MB with a Content-Length gets 413", () =>
    Effect.gen(function* () {
      const { post } = yield* running
      expectJson(yield* post(Buffer.alloc(5_000_000, "x")), 413, tooLarge)
    }),
  )

  it.scopedLive("a body of 600 kB in chunks gets 413", () =>
    Effect.gen(function* () {
      const { post } = yield* running
      const answer = yield* post(Buffer.alloc(600_000, "x"), { "transfer-encoding": "chunked" })
      expectJson(answer, 413, tooLarge)
    }),
  )

  it.scopedLive(
    "a body over 512 KiB gets 413, and the longest valid request is below that limit",
    () =>
      Effect.gen(function* () {
        const { post } = yield* running
        const padded = (bytes: number) => {
          const document = '{"urls":["localhost"]}'
          return document + " ".repeat(bytes - document.length)
        }
        assert.strictEqual((yield* post(padded(524_288))).status, 200)
        expectJson(yield* post(padded(524_289)), 413, tooLarge)
        const longest = `"${"\\ud83d\\ude00".repeat(500)}"`
        const urls = Array.from({ length: 50 }, () => longest).join(",")
        const document = `{"urls":[${urls}]}`
        assert.strictEqual(document.length, 300_160)
        assert.strictEqual((yield* post(document)).status, 200)
      }),
  )
})

describe("status 431", () => {
  it.scopedLive("headers of more than 16 KB get 431 in JSON, and the server continues", () =>
    Effect.gen(function* () {
      const { credits, send } = yield* start()
      const answer = yield* send({
        path: creditsPath,
        headers: { "x-api-key": "k".repeat(17_000) },
      })
      assert.strictEqual(answer.status, 431)
      assert.strictEqual(answer.headers["content-type"], "application/json")
      assert.deepStrictEqual(JSON.parse(answer.text), failure("The headers are too large."))
      assert.strictEqual((yield* credits).status, 200)
    }),
  )
})

describe("status 500", () => {
  const internal = failure("Internal server error.")
  const secret = "the password of the database is hunter2"

  /** The answer hides the cause. The log has it, under the request id. */
  const expectBroken = (answer: Answer, log: ReadonlyArray<string>) => {
    expectJson(answer, 500, internal)
    const id = String(answer.headers["x-request-id"])
    assert.include(
      log.find((line) => line.includes(id)),
      secret,
    )
  }

  const breakingLedger = (broken: Partial<CreditLedger["Type"]>) =>
    Layer.effect(
      CreditLedger,
      Effect.map(CreditLedger, (ledger) => ({ ...ledger, ...broken })),
    ).pipe(Layer.provide(memoryLedger))

  const breaking = Effect.die(new Error(secret))

  it.scopedLive("a failing key store gives 500, and only the log has the cause", () =>
    Effect.gen(function* () {
      const keys = Layer.succeed(ApiKeys, {
        authenticate: () => breaking,
        issue: ({ account }) => Effect.sync(() => ApiKey.issue(ApiKey.terms({ account }), 0)),
        rotate: () => breaking,
        update: () => breaking,
        revoke: () => breaking,
        list: () => breaking,
        find: () => breaking,
        search: () => breaking,
        unreadable: breaking,
      })
      const { check, credits, log } = yield* start({ keys })
      expectBroken(yield* credits, log)
      expectBroken(yield* check(["example.com"]), log)
    }),
  )

  it.scopedLive("a failing hold gives 500, and no provider is called", () =>
    Effect.gen(function* () {
      const provider = make(succeeding)
      const ledger = breakingLedger({ open: () => breaking })
      const { check, log } = yield* start({ ledger, provider: provider.layer })
      expectBroken(yield* check(["example.com"]), log)
      assert.deepStrictEqual(provider.calls, [])
    }),
  )

  it.scopedLive("a failing charge gives 500, and nothing is charged", () =>
    Effect.gen(function* () {
      const ledger = breakingLedger({ settle: () => breaking, charge: () => breaking })
      const bought = { ledger, provider: make(succeeding).layer }
      for (const options of [bought, { ledger }]) {
        const { books, charges, check, log } = yield* start(options)
        expectBroken(yield* check(["example.com"]), log)
        assert.deepStrictEqual(yield* charges, [])
        assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
      }
    }),
  )

  it.scopedLive(
    "a request for the available credits gets 500 if the ledger's balance is negative, and the log says why",
    () =>
      Effect.gen(function* () {
        const balance = {
          granted: Credits.make(1),
          charged: Credits.make(2),
          held: Credits.make(0),
          entries: 0,
          head: "",
        }
        const ledger = breakingLedger({ balance: () => Effect.succeed(balance) })
        const { credits, log } = yield* start({ ledger })
        const answer = yield* credits
        expectJson(answer, 500, internal)
        assert.include(
          log.find((line) => line.includes(String(answer.headers["x-request-id"]))),
          "expected a whole number of credits",
        )
      }),
  )

  it.scopedLive("a request whose hold expires during the lookup gets 500 and is not charged", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
      const { books, charges, check, ledger } = yield* start({
        ledger: memory.creditLedger({ lease: 0 }),
        provider: provider.layer,
      })
      const pending = yield* Effect.forkScoped(check(["example.com"]))
      yield* eventually("the provider is asked", () => provider.calls.length === 1)
      assert.strictEqual(yield* ledger.expire, 1)
      yield* gate.open
      expectJson(yield* Fiber.join(pending), 500, internal)
      assert.deepStrictEqual(yield* charges, [])
      assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
    }),
  )

  it.scopedLive(
    "a provider's fault is answered with 200 and a failure reason, and is not charged",
    () =>
      Effect.gen(function* () {
        for (const [provider, reason] of [
          [make(() => Effect.die(new Error(secret))), "SERVER_ERROR"],
          [make(() => Effect.succeed([])), "PROVIDER_ERROR"],
          [
            make(() => Effect.succeed([checked({ ...figures, domainAuthority: 101 })])),
            "PROVIDER_ERROR",
          ],
          [
            make(() => Effect.succeed([checked({ ...figures, spamScore: Number.NaN })])),
            "PROVIDER_ERROR",
          ],
        ] as const) {
          const { books, check } = yield* start({ provider: provider.layer })
          expectJson(yield* check(["example.com"]), 200, {
            success: true,
            data: { successUrls: [], failedUrls: [{ url: "example.com", reason }] },
            quota: { creditsUsed: 0 },
          })
          assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
        }
      }),
  )
})

describe("the header x-request-id", () => {
  it.scopedLive("every answer has its own x-request-id", () =>
    Effect.gen(function* () {
      const { check, credits, post, send } = yield* start({ credits: 1 })
      const answers = yield* Effect.all([
        credits,
        credits,
        post("{"),
        send({ path: creditsPath }),
        check(["example.com", "example.org"]),
        send({ path: "/nothing" }),
        send({ path: batchPath }),
        post("x".repeat(600_000)),
        send({ path: "/openapi.json" }),
      ])
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 400, 401, 402, 404, 405, 413, 200],
      )
      const ids = answers.map(({ headers }) => String(headers["x-request-id"]))
      for (const id of ids) assert.match(id, uuid)
      assert.strictEqual(new Set(ids).size, ids.length)
    }),
  )

  it.scopedLive(
    "the ledger entry of a charge has the x-request-id of the HTTP answer, and the client cannot choose that id",
    () =>
      Effect.gen(function* () {
        const { charges, post } = yield* start()
        const first = yield* post('{"urls":["example.com"]}', { "x-request-id": "mine" })
        const second = yield* post('{"urls":["example.com"]}', { "x-request-id": "mine" })
        assert.deepStrictEqual(
          (yield* charges).map(({ requestId }) => String(requestId)),
          [first, second].map(({ headers }) => String(headers["x-request-id"])),
        )
      }),
  )
})

describe("the header cache-control", () => {
  it.scopedLive("every answer under /v1 has Cache-Control: no-store", () =>
    Effect.gen(function* () {
      const { check, credits, post, send } = yield* start({ credits: 3 })
      const answers = yield* Effect.all([
        credits,
        check(["example.com"]),
        // These figures are cached now.
        check(["example.com"]),
        post("{"),
        post("{}", { "content-encoding": "gzip" }),
        send({ path: creditsPath }),
        check(["example.com", "example.org"]),
        send({ path: "/v1/nothing" }),
        send({ path: "/V1?" }),
        send({ path: batchPath }),
        post("x".repeat(600_000)),
      ])
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 400, 415, 401, 402, 404, 404, 405, 413],
      )
      for (const { headers, status } of answers) {
        assert.strictEqual(headers["cache-control"], "no-store", `on ${status}`)
      }
    }),
  )
})

describe("the accounts", () => {
  it.scopedLive("an account spends only its own credits, with any of its API keys", () =>
    Effect.gen(function* () {
      const { account, accounts, key, keys, ledger, url } = yield* start({ credits: 10 })
      const { id: other } = yield* accounts.create(AccountName.make("other"))
      yield* ledger.grant(other, Credits.make(5), null)
      const second = Redacted.value((yield* keys.issue({ account })).key)
      const foreign = Redacted.value((yield* keys.issue({ account: other })).key)
      const available = (apiKey: string) =>
        Effect.map(
          request(url, { path: creditsPath, headers: { "x-api-key": apiKey } }),
          ({ text }) => JSON.parse(text).data.availableCredits,
        )
      yield* request(url, batch(second, '{"urls":["example.com"]}'))
      yield* request(url, batch(foreign, '{"urls":["example.com","example.org"]}'))
      assert.deepStrictEqual(yield* Effect.all([key, second, foreign].map(available)), [9, 9, 3])
    }),
  )
})
