/** The HTTP contract, one status code at a time, checked on the wire. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { AccountName } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { invalidContentType, invalidJson, type Issue } from "../../src/contract/Issues.ts"
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
import { type Answer } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

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

const advice = "Send the header Content-Type: application/json and a valid JSON body."

const invalid = (first: Issue, ...others: ReadonlyArray<Issue>) => {
  const violation = [...(first.path.length === 0 ? [] : [first.path.join(".")]), first.message]
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`
  return {
    ...failure(`${violation.join(": ")}${more}. ${advice}`),
    error: { issues: [first, ...others], name: "ValidationError" },
  }
}

const document = '{"urls":["localhost"]}'

const untouched = { available: 1000, held: 0, charged: 0 }

describe("status 200", () => {
  it.scopedLive("a batch answer keeps the request's order and spelling", () =>
    Effect.gen(function* () {
      const other = { domainAuthority: 0, pageAuthority: 100 }
      const { layer } = make((targets) =>
        Effect.succeed(targets.map((_, i) => checked(i === 0 ? figures : other))),
      )
      const { books, check } = yield* start({ provider: layer })
      const urls = [
        " HTTPS://Example.COM/ ",
        "localhost",
        "münchen.de/ü?q=ä#f",
        "not a url",
        "EXAMPLE.com",
      ]
      expectJson(yield* check(urls), 200, {
        success: true,
        data: {
          successUrls: [
            { url: urls[0], ...figures },
            { url: urls[2], ...other },
            { url: urls[4], ...figures },
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
    "a batch answer names each failure's reason, charges only successes, and may lack a score",
    () =>
      Effect.gen(function* () {
        const { check, credits } = yield* start({ price: 7, credits: 28 })
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
        assert.deepStrictEqual(quota, { creditsUsed: 14 })
        expectJson(yield* credits, 200, { success: true, data: { availableCredits: 14 } })
      }),
  )

  it.scopedLive("the available credits do not include credits on hold", () =>
    Effect.gen(function* () {
      const provider = make(() => Effect.never)
      const { check, credits } = yield* start({ provider: provider.layer, price: 3, credits: 10 })
      yield* Effect.forkScoped(check(["example.com"]))
      yield* eventually("the provider is asked", () => provider.calls.length === 1)
      expectJson(yield* credits, 200, { success: true, data: { availableCredits: 7 } })
    }),
  )

  it.scopedLive("a batch of 50 URLs is accepted, and each repeated URL is charged", () =>
    Effect.gen(function* () {
      const { check } = yield* start()
      const answer = yield* check(Array(50).fill("example.com"))
      assert.strictEqual(answer.status, 200)
      assert.lengthOf(JSON.parse(answer.text).data.successUrls, 50)
      assert.strictEqual(JSON.parse(answer.text).quota.creditsUsed, 50)
    }),
  )

  const deep = `${"[".repeat(9000)}${"]".repeat(9000)}`
  const text = JSON.stringify('[{:\\"'.repeat(3000))

  it.scopedLive.each<
    [name: string, request: { body?: string; contentType?: string; suffix?: string }]
  >([
    ...[
      "application/json",
      "application/json;charset=UTF-8",
      "Application/JSON ; charset=utf-8",
    ].map((contentType): [string, object] => [`the Content-Type ${contentType}`, { contentType }]),
    ...["?a=b", "?", "/", "/?a=b"].map((suffix): [string, object] => [
      `the path that ends with ${suffix}`,
      { suffix },
    ]),
    ...[50, 80, 120, 500].map((kilobytes): [string, object] => [
      `a body of ${kilobytes} kB`,
      { body: document.padEnd(kilobytes * 1000) },
    ]),
    ["a byte order mark", { body: `\ufeff${document}` }],
    [
      "unknown fields, also __proto__",
      {
        body: `{"__proto__":{"urls":[]},"constructor":1,"urls":["localhost"],"deep":${deep},"text":${text}}`,
      },
    ],
  ])("a batch with %s is accepted", ([, { body = document, contentType, suffix = "" }]) =>
    Effect.gen(function* () {
      const { key, send } = yield* running
      const headers = contentType === undefined ? {} : { "content-type": contentType }
      const answer = yield* send({ ...batch(key, body, headers), path: `${batchPath}${suffix}` })
      expectJson(answer, 200, {
        success: true,
        data: { successUrls: [], failedUrls: [{ url: "localhost", reason: "INVALID_URL" }] },
        quota: { creditsUsed: 0 },
      })
    }),
  )

  it.scopedLive("the longest URLs and odd characters are accepted and echoed unchanged", () =>
    Effect.gen(function* () {
      const { check } = yield* running
      const urls = ["a", `a/${"a".repeat(998)}`, "😀".repeat(500), "\ud83d.example.com", "a\0b"]
      const answer = yield* check(urls)
      assert.deepStrictEqual(
        JSON.parse(answer.text).data.failedUrls.map(({ url }: { readonly url: string }) => url),
        urls,
      )
    }),
  )

  it.scopedLive.each([
    `http://localhost${creditsPath}`,
    `HTTP://localhost${creditsPath}?a=b`,
    creditsPath.replace("quota", "%71uota"),
    creditsPath.toUpperCase(),
    `/${creditsPath}`,
  ])("the request target %s reaches the path of the available credits", (path) =>
    Effect.gen(function* () {
      const { key, send } = yield* running
      const answer = yield* send({ path, headers: { "x-api-key": key } })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual(answer.headers["cache-control"], "no-store")
    }),
  )

  it.scopedLive("HEAD gets the same headers as GET and no body", () =>
    Effect.gen(function* () {
      const { credits, key, send } = yield* running
      const get = yield* credits
      const head = yield* send({ method: "HEAD", path: creditsPath, headers: { "x-api-key": key } })
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      assert.strictEqual(head.headers["content-type"], get.headers["content-type"])
      assert.strictEqual(head.headers["content-length"], get.headers["content-length"])
    }),
  )
})

describe("status 400", () => {
  it.scopedLive.each([
    undefined,
    "application/json-evil",
    "application/jsonp",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/html; application/json",
    "",
  ])("the Content-Type %j gets 400 and is not charged", (contentType) =>
    Effect.gen(function* () {
      const { books, key, send } = yield* running
      const answer = yield* send({
        method: "POST",
        path: batchPath,
        headers: {
          "x-api-key": key,
          ...(contentType !== undefined && { "content-type": contentType }),
        },
        body: '{"urls":["example.com"]}',
      })
      expectJson(answer, 400, invalid(invalidContentType))
      assert.deepStrictEqual(yield* books, untouched)
    }),
  )

  const notJson = invalidJson("The body is not valid JSON")

  it.scopedLive.each<[name: string, body: string | Uint8Array, issue: Issue]>([
    ["zero bytes", "", notJson],
    ["plain text", "hello", notJson],
    ["half a JSON document", '{"urls":["example.com"', notJson],
    ["two JSON documents", '{"urls":["example.com"]}{}', notJson],
    ["JSON with single quotes", "{'urls':['example.com']}", notJson],
    ["JSON with NaN", '{"urls":[NaN]}', notJson],
    ["100,000 open brackets", "[".repeat(100_000), notJson],
    ["UTF-16", Buffer.from('{"urls":["example.com"]}', "utf16le"), notJson],
    [
      "bytes that are not UTF-8",
      Buffer.from('{"urls":["\xff.com"]}', "latin1"),
      invalidJson("The body is not UTF-8"),
    ],
  ])("a request body of %s gets 400", ([, body, issue]) =>
    Effect.gen(function* () {
      const { post } = yield* running
      expectJson(yield* post(body), 400, invalid(issue))
    }),
  )

  it.scopedLive("a 400 lists every violation, and its message names the first", () =>
    Effect.gen(function* () {
      const { check } = yield* running
      const type = { code: "invalid_type", expected: "string", received: "number" } as const
      const message = "Expected string, received number"
      const size = { code: "too_small", minimum: 1, inclusive: true, exact: false } as const
      const ofList = "Array must contain at least 1 element(s)"
      const ofText = "String must contain at least 1 character(s)"
      const empty = invalid({ ...size, type: "array", message: ofList, path: ["urls"] })
      expectJson(yield* check([]), 400, empty)
      assert.strictEqual(empty.message, `urls: ${ofList}. ${advice}`)
      const several = invalid(
        { ...type, message, path: ["urls", "1"] },
        { ...size, type: "string", message: ofText, path: ["urls", "2"] },
      )
      expectJson(yield* check(["a.com", 7, ""]), 400, several)
      assert.strictEqual(several.message, `urls.1: ${message} (and 1 more). ${advice}`)
    }),
  )
})

describe("status 401", () => {
  const unknown = "am_0000000000000000000000000000000000000000000000000"

  it.scopedLive.each([undefined, "", unknown, "k".repeat(4096), "Bearer abc"])(
    "the API key %s gets 401, whatever the body",
    (key) =>
      Effect.gen(function* () {
        const { send } = yield* running
        const headers = key === undefined ? {} : { "x-api-key": key }
        expectJson(yield* send({ path: creditsPath, headers }), 401, unauthorized)
        for (const body of ["", "{", '{"urls":[]}', "x".repeat(600_000)]) {
          const post = { method: "POST", path: batchPath, headers, body }
          expectJson(yield* send(post), 401, unauthorized)
          const json = { ...headers, "content-type": "application/json" }
          expectJson(yield* send({ ...post, headers: json }), 401, unauthorized)
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

  it.scopedLive("a revoked or expired API key gets 401", () =>
    Effect.gen(function* () {
      const { account, check, credits, keyId, keys, send } = yield* start()
      const available = (expiresIn: Duration.Duration) =>
        Effect.flatMap(keys.issue({ account, expiresIn }), ({ key }) =>
          send({ path: creditsPath, headers: { "x-api-key": Redacted.value(key) } }),
        )
      assert.strictEqual((yield* credits).status, 200)
      yield* keys.revoke(keyId)
      expectJson(yield* credits, 401, unauthorized)
      expectJson(yield* check(["example.com"]), 401, unauthorized)
      expectJson(yield* available(Duration.zero), 401, unauthorized)
      assert.strictEqual((yield* available(Duration.hours(1))).status, 200)
    }),
  )
})

describe("status 402", () => {
  it.scopedLive("a batch above the balance gets 402 until the missing credits are granted", () =>
    Effect.gen(function* () {
      const provider = make(succeeding)
      const server = yield* start({ provider: provider.layer, price: 3, credits: 5 })
      const { account, books, check, ledger, post } = server
      const urls = ["example.com", "localhost", "example.com"]
      const message = "This request needs 6 credits and the account has 5."
      expectJson(yield* check(urls), 402, failure(message))
      assert.deepStrictEqual(provider.calls, [])
      assert.deepStrictEqual(yield* books, { available: 5, held: 0, charged: 0 })
      yield* ledger.grant(account, Credits.make(1), null)
      assert.strictEqual((yield* check(urls)).status, 200)
      assert.strictEqual((yield* check(urls)).status, 402)
      assert.strictEqual((yield* post('{"urls":[]}')).status, 400)
    }),
  )
})

describe("status 404", () => {
  it.scopedLive.each([
    "/v1",
    "/v2/quota/available-credits",
    "/v1/metrics",
    "/v1/quota/../quota/available-creditz",
    "/v1/quota/available%2Dcredit",
    "/%",
    "/%ff",
    "/constructor",
    "/__proto__",
  ])("the path %s gets 404 with and without an API key", (path) =>
    Effect.gen(function* () {
      const { key, send } = yield* running
      for (const headers of [{}, { "x-api-key": key }]) {
        const answer = yield* send({ path, headers })
        expectJson(answer, 404, failure("There is nothing at this path."))
      }
    }),
  )
})

describe("status 405", () => {
  it.scopedLive.each([
    [batchPath, "POST"],
    [previewPath, "POST"],
    [creditsPath, "GET"],
    ["/openapi.json", "GET"],
  ] as const)("every other method on %s gets 405, and the Allow header names %s", ([path, allow]) =>
    Effect.gen(function* () {
      const { send } = yield* running
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
        if (method === allow) continue
        for (const suffix of ["", "?a=b"]) {
          const answer = yield* send({ method, path: path + suffix })
          expectJson(answer, 405, failure(`This path takes ${allow}, not ${method}.`))
          assert.strictEqual(answer.headers.allow, allow)
        }
      }
      if (allow === "GET") return
      const head = yield* send({ method: "HEAD", path })
      assert.deepStrictEqual([head.status, head.headers.allow, head.text], [405, allow, ""])
    }),
  )
})

describe("status 413", () => {
  it.scopedLive("a body over 512 KiB gets 413, with a length or in chunks", () =>
    Effect.gen(function* () {
      const { post } = yield* running
      const tooLarge = failure("The body exceeds the limit of 524288 bytes.")
      assert.strictEqual((yield* post(document.padEnd(524_288))).status, 200)
      expectJson(yield* post(document.padEnd(524_289)), 413, tooLarge)
      expectJson(yield* post(Buffer.alloc(5_000_000, "x")), 413, tooLarge)
      const chunked = { "transfer-encoding": "chunked" }
      expectJson(yield* post(Buffer.alloc(600_000, "x"), chunked), 413, tooLarge)
    }),
  )

  it.scopedLive("the longest valid request is below the limit of a body", () =>
    Effect.gen(function* () {
      const { post } = yield* running
      const longest = `"${"\\ud83d\\ude00".repeat(500)}"`
      const body = `{"urls":[${Array(50).fill(longest).join()}]}`
      assert.lengthOf(body, 300_160)
      assert.strictEqual((yield* post(body)).status, 200)
    }),
  )
})

describe("status 431", () => {
  it.scopedLive("headers of more than 16 KB get 431 in JSON, and the server continues", () =>
    Effect.gen(function* () {
      const { credits, send } = yield* running
      const headers = { "x-api-key": "k".repeat(17_000) }
      const answer = yield* send({ path: creditsPath, headers })
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
  const expectBroken = (answer: Answer, log: ReadonlyArray<string>, cause = secret) => {
    expectJson(answer, 500, internal)
    const id = String(answer.headers["x-request-id"])
    assert.include(
      log.find((line) => line.includes(id)),
      cause,
    )
  }

  const breakingLedger = (broken: Partial<CreditLedger["Type"]>) =>
    Layer.effect(
      CreditLedger,
      Effect.map(CreditLedger, (ledger) => ({ ...ledger, ...broken })),
    ).pipe(Layer.provide(memoryLedger))

  const breaking = Effect.die(new Error(secret))

  it.scopedLive("a failing key store gives 500, and only the log contains the cause", () =>
    Effect.gen(function* () {
      const keys = Layer.map(memory.apiKeys, (context) =>
        Context.add(context, ApiKeys, {
          ...Context.get(context, ApiKeys),
          authenticate: () => breaking,
        }),
      )
      const { check, credits, log } = yield* start({ keys })
      expectBroken(yield* credits, log)
      expectBroken(yield* check(["example.com"]), log)
    }),
  )

  it.scopedLive("a negative balance gives 500, and the log says why", () =>
    Effect.gen(function* () {
      const [granted, charged, held] = [Credits.make(1), Credits.make(2), Credits.make(0)]
      const balance = { granted, charged, held, entries: 0, head: "" }
      const ledger = breakingLedger({ balance: () => Effect.succeed(balance) })
      const { credits, log } = yield* start({ ledger })
      expectBroken(yield* credits, log, "expected a whole number of credits")
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
      assert.deepStrictEqual(yield* books, untouched)
    }),
  )
})

describe("headers that every answer has", () => {
  it.scopedLive(
    "every answer has its own x-request-id, and under /v1 Cache-Control: no-store",
    () =>
      Effect.gen(function* () {
        const { check, credits, post, send } = yield* start({ credits: 3 })
        const answers = yield* Effect.all([
          credits,
          check(["example.com"]),
          // These figures are cached now.
          check(["example.com"]),
          post("{"),
          send({ path: creditsPath }),
          check(["example.com", "example.org"]),
          send({ path: "/v1/nothing" }),
          send({ path: "/V1?" }),
          send({ path: batchPath }),
          post("x".repeat(600_000)),
          post("{}", { "content-encoding": "gzip" }),
          send({ path: "/openapi.json" }),
        ])
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 200, 200, 400, 401, 402, 404, 404, 405, 413, 415, 200],
        )
        const ids = answers.map(({ headers }) => String(headers["x-request-id"]))
        for (const id of ids) assert.match(id, uuid)
        assert.strictEqual(new Set(ids).size, ids.length)
        for (const { headers, status } of answers.slice(0, -1)) {
          assert.strictEqual(headers["cache-control"], "no-store", `on ${status}`)
        }
      }),
  )

  it.scopedLive("a charge has the x-request-id of its answer, which the client cannot choose", () =>
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

describe("charges of several accounts", () => {
  it.scopedLive("an account spends only its own credits, with any of its API keys", () =>
    Effect.gen(function* () {
      const { account, accounts, key, keys, ledger, send } = yield* start({ credits: 10 })
      const { id: other } = yield* accounts.create(AccountName.make("other"))
      yield* ledger.grant(other, Credits.make(5), null)
      const second = Redacted.value((yield* keys.issue({ account })).key)
      const foreign = Redacted.value((yield* keys.issue({ account: other })).key)
      const available = (apiKey: string) =>
        Effect.map(
          send({ path: creditsPath, headers: { "x-api-key": apiKey } }),
          ({ text }) => JSON.parse(text).data.availableCredits,
        )
      yield* send(batch(second, '{"urls":["example.com"]}'))
      yield* send(batch(foreign, '{"urls":["example.com","example.org"]}'))
      assert.deepStrictEqual(yield* Effect.all([key, second, foreign].map(available)), [9, 9, 3])
    }),
  )
})
