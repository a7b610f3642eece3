/** Sends the same requests with and without the fast path, and compares answers and books. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import { ApiKeys } from "../../src/ApiKeys.ts"
import { CreditLedger } from "../../src/CreditLedger.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import {
  type Client,
  keptConnection,
  type Options,
  type Service,
  start,
} from "../support/ServiceInMode.ts"
import { forAll } from "../support/properties.ts"
import {
  allowedOrigin,
  type Ask,
  ask,
  boughtUrls,
  invalidUrls,
  knownUrls,
  newProvider,
  plain,
  previewOf,
  requestOf,
} from "../support/randomRequests.ts"
import type { Answer } from "../../scripts/support/RawHttp.ts"

/** The parts of an answer that must be equal: everything but the request id and the date. */
const comparable = ({
  headers: { date, "x-request-id": id, ...headers },
  status,
  text,
}: Answer) => ({
  status,
  headers,
  text,
  hasDate: date !== undefined,
  hasRequestId: id !== undefined,
})

/** Sends the requests one after another. Returns the answers and the books. */
const outcomeOf = (service: Service, asks: ReadonlyArray<Ask>, credits: number) =>
  Effect.gen(function* () {
    const agent = yield* keptConnection
    const client = yield* service.newClient(credits)
    /** The answers of the fast path. */
    const byFastPath: Array<string> = []
    const answers = yield* Effect.forEach(asks, (ask) =>
      Effect.gen(function* () {
        const before = service.answered()
        const answer = yield* service.send(requestOf(ask, client.key, agent))
        if (service.answered() > before) byFastPath.push(kindOf(answer))
        return answer
      }),
    )
    const books = yield* numberedBooks(service, client, answers)
    return { same: { answers: answers.map(comparable), books }, byFastPath }
  }).pipe(Effect.scoped)

const kindOf = ({ headers, status }: Answer) =>
  headers["idempotent-replayed"] === undefined ? `${status}` : `${status} replayed`

/** Replaces request ids by numbers, so that the books of both services can be compared. */
const numberedBooks = (service: Service, { account }: Client, answers: ReadonlyArray<Answer>) => {
  const numbers = new Map(answers.map(({ headers }, i) => [headers["x-request-id"], i]))
  return Effect.map(service.booksOf(account), ({ entries, keys, ...balance }) => ({
    ...balance,
    entries: entries.map(({ amount, at, balanceAfter, kind, note, requestId, sequence, urls }) => ({
      amount,
      at,
      balanceAfter,
      kind,
      note,
      sequence,
      urls,
      request: requestId === null ? "none" : numbers.get(requestId),
    })),
    keys: keys.map(({ requestId, ...key }) => ({ ...key, request: numbers.get(requestId) })),
  }))
}

/** The first request caches the API key, so the fast path answers the second one. */
const warmUp = [plain("known-1.example.com"), plain("known-2.example.com")]

const named = (...urls: ReadonlyArray<string>): Ask => ({ ...plain(...urls), idempotencyKey: "a" })

/** Charged, replayed, refused with 422 and, if a check costs two credits, refused with 402. */
const oneOfEach = {
  credits: 7,
  asks: [
    named("known-1.example.com"),
    named("known-1.example.com"),
    named("known-2.example.com"),
    plain("known-1.example.com"),
  ],
}

/** A sequence of requests from a small pool, so that requests repeat. */
const sequence = fc.record({
  credits: fc.oneof(fc.constant(1000), fc.integer({ min: 1, max: 20 })),
  asks: fc
    .record({
      pool: fc.array(ask, { minLength: 1, maxLength: 6 }),
      picks: fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
    })
    .map(({ picks, pool }) => picks.flatMap((pick) => pool[pick % pool.length] ?? [])),
})

/** Compares both modes on random sequences. Returns the kinds of answers of the fast path. */
const compareModes = (options: Omit<Options, "provider">, numRuns: number) =>
  Effect.gen(function* () {
    const providers = { express: newProvider(), router: newProvider() }
    const express = yield* start("express", { ...options, provider: providers.express.layer })
    const router = yield* start("router", { ...options, provider: providers.router.layer })
    const seen = new Set<string>()
    yield* forAll(sequence, { numRuns, examples: [oneOfEach] }, ({ asks, credits }) =>
      Effect.gen(function* () {
        const all = [...warmUp, ...asks]
        const one = yield* outcomeOf(express, all, credits)
        const other = yield* outcomeOf(router, all, credits)
        assert.deepStrictEqual(one.same, other.same)
        assert.deepStrictEqual(providers.express.calls, providers.router.calls)
        assert.deepStrictEqual(other.byFastPath, [])
        if (options.corsOrigins === undefined) assert.isNotEmpty(one.byFastPath)
        for (const kind of one.byFastPath) seen.add(kind)
      }),
    )
    assert.deepStrictEqual((yield* express.verify).problems, [])
    assert.deepStrictEqual((yield* router.verify).problems, [])
    return seen
  })

it.scopedLive("the fast path answers a preview of known URLs like the router", () =>
  Effect.gen(function* () {
    const service = (mode: "express" | "router") => start(mode, { provider: newProvider().layer })
    const previews = [
      ["known-1.example.com", "HTTP://Known-1.example.com/", "localhost"],
      ["known-1.example.com", "bought-1.example.com"],
    ].map((urls) => previewOf(plain(...urls)))
    const asks = [...warmUp, ...previews]
    const express = yield* outcomeOf(yield* service("express"), asks, 5)
    const router = yield* outcomeOf(yield* service("router"), asks, 5)
    assert.deepStrictEqual(express.same, router.same)
    assert.deepStrictEqual(express.byFastPath, ["200", "200"])
    assert.deepInclude(JSON.parse(express.same.answers[2]?.text ?? ""), {
      quota: { maxCredits: 2, availableCredits: 3, affordable: true },
    })
  }),
)

describe("sequential requests", () => {
  const timeout = 120_000

  it.scopedLive(
    "sequential requests get the same answers and leave the same balances with and without the fast path",
    () =>
      Effect.gen(function* () {
        const seen = yield* compareModes({ price: 2 }, 15)
        assert.sameMembers([...seen], ["200", "200 replayed", "402", "422"])
      }),
    timeout,
  )

  it.scopedLive(
    "when the service has a rate limit, requests get the same answers with and without the fast path",
    () => compareModes({ rateLimit: { requests: 5, per: Duration.minutes(10) } }, 8),
    timeout,
  )

  for (const corsOrigins of [
    [allowedOrigin],
    [allowedOrigin, "https://other.example.com"],
    ["*"],
  ]) {
    it.scopedLive(
      `answers are the same with and without the fast path when CORS allows ${corsOrigins.join(" and ")}`,
      () =>
        Effect.gen(function* () {
          assert.isEmpty(yield* compareModes({ corsOrigins }, 5))
        }),
      timeout,
    )
  }
})

/** Concurrent requests for known and bought figures, with a few idempotency keys or without. */
const racing = fc.record({
  credits: fc.oneof(fc.constant(10_000), fc.integer({ min: 1, max: 40 })),
  races: fc.array(
    fc.record({
      name: fc.constantFrom(undefined, undefined, "a", "b", "c"),
      list: fc.oneof(
        { weight: 6, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.constant(1) },
      ),
      urls: fc.array(fc.constantFrom(...knownUrls, ...boughtUrls, ...invalidUrls), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
    { minLength: 10, maxLength: 60 },
  ),
})

/** For each idempotency key, the two lists that clients send with it. Most send the first list. */
const lists: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>> = {
  a: [["known-1.example.com", "localhost", "known-2.example.com"], ["known-2.example.com"]],
  b: [["bought-1.example.com", "known-1.example.com"], ["known-1.example.com"]],
  c: [["known-3.example.com"], ["bought-2.example.com"]],
}

const isBought = (urls: ReadonlyArray<string>) => urls.some((url) => url.startsWith("bought"))

const creditsUsed = ({ text }: Answer): number => JSON.parse(text).quota.creditsUsed

describe("concurrent requests", () => {
  it.scopedLive(
    "with the fast path, concurrent requests get only answers that the router could give, and each answer that costs credits is charged exactly once",
    () =>
      Effect.gen(function* () {
        const express = yield* start("express", { provider: newProvider().layer })
        const router = yield* start("router", { provider: newProvider().layer })
        const slow = yield* router.newClient(1_000_000)
        yield* forAll(racing, { numRuns: 8 }, ({ credits, races }) =>
          Effect.gen(function* () {
            const { account, key } = yield* express.newClient(credits)
            const asks = races.map(({ list, name, urls }) => ({
              name,
              urls: (name === undefined ? urls : lists[name]?.[list]) ?? urls,
            }))
            // From here on the API key is cached for the fast path.
            yield* express.send(requestOf(plain("localhost"), key))
            const before = express.answered()
            const answers = yield* Effect.forEach(
              asks,
              ({ name, urls }) =>
                express.send(requestOf({ ...plain(...urls), idempotencyKey: name }, key)),
              { concurrency: "unbounded" },
            )
            const hasKnown = asks.some(({ urls }) => urls.every((url) => knownUrls.includes(url)))
            if (hasKnown) assert.isAbove(express.answered(), before)

            const charges = new Map<string, number>()
            const firsts = new Map<string, string>()
            for (const [i, answer] of answers.entries()) {
              const { name, urls } = asks[i] ?? assert.fail("an answer too many")
              const { headers, status, text } = answer
              const isReplay = headers["idempotent-replayed"] !== undefined
              if (status === 200) {
                const expected = yield* router.send(requestOf(plain(...urls), slow.key))
                assert.strictEqual(text, expected.text)
                if (isReplay) continue
                if (creditsUsed(answer) > 0) {
                  charges.set(String(headers["x-request-id"]), creditsUsed(answer))
                }
                if (name === undefined) continue
                assert.isFalse(firsts.has(name), `the key ${name} has one first answer`)
                firsts.set(name, text)
              } else {
                assert.include([402, 409, 422], status, text)
                assert.strictEqual(JSON.parse(text).success, false)
              }
            }
            for (const [i, { headers, status, text }] of answers.entries()) {
              const { name = "", urls } = asks[i] ?? assert.fail("an answer too many")
              const isReplay = headers["idempotent-replayed"] !== undefined
              if (isReplay) assert.strictEqual(text, firsts.get(name))
              const others = asks.filter((ask) => ask.name === name && ask.urls !== urls)
              const same = asks.filter((ask) => ask.name === name && ask.urls === urls)
              if (status === 402) assert.isBelow(credits, 10_000)
              if (status === 409) assert.isTrue(same.length > 1 && isBought(urls))
              if (status === 422) assert.isAbove(others.length, 0)
            }

            const books = yield* express.booksOf(account)
            const charged = books.entries
              .filter(({ kind }) => kind === "charge")
              .map(({ amount, requestId }): [string, number] => [String(requestId), amount])
            assert.sameDeepMembers(charged, [...charges])
            const sum = [...charges.values()].reduce((sum, amount) => sum + amount, 0)
            assert.deepStrictEqual([books.granted, books.charged, books.held].map(Number), [
              credits,
              sum,
              0,
            ])
            assert.sameMembers(
              books.keys.map((row) => row.key),
              [...firsts.keys()],
            )
          }),
        )
        assert.deepStrictEqual((yield* express.verify).problems, [])
      }),
    120_000,
  )
})

describe("the fast path", () => {
  const wrapped = <A, E>(effect: Effect.Effect<A, E>) => Effect.map(effect, (value) => value)

  const wrappers: ReadonlyArray<readonly [name: string, replace: NonNullable<Options["replace"]>]> =
    [
      [
        "ledger",
        (all) => {
          const ledger = Context.get(all, CreditLedger)
          const charge: typeof ledger.charge = (...args) => wrapped(ledger.charge(...args))
          return Context.add(all, CreditLedger, { ...ledger, charge })
        },
      ],
      [
        "key store",
        (all) => {
          const keys = Context.get(all, ApiKeys)
          const authenticate: typeof keys.authenticate = (key) => wrapped(keys.authenticate(key))
          return Context.add(all, ApiKeys, { ...keys, authenticate })
        },
      ],
      [
        "provider",
        (all) => {
          const provider = Context.get(all, MetricsProvider)
          const known: typeof provider.known = (targets) => wrapped(provider.known(targets))
          return Context.add(all, MetricsProvider, { ...provider, known })
        },
      ],
    ]

  const askTwice = (options: Partial<Options>) =>
    Effect.gen(function* () {
      const service = yield* start("express", { provider: newProvider().layer, ...options })
      const { key } = yield* service.newClient(10)
      for (const ask of warmUp) {
        assert.strictEqual((yield* service.send(requestOf(ask, key))).status, 200)
      }
      return service.answered()
    })

  it.scopedLive(
    "a request with cached figures takes the fast path, which bypasses the HTTP router, if ledger, key store and provider are the built-in implementations",
    () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* askTwice({}), 1)
      }),
  )

  it.scopedLive(
    "a key without the scope check, or of a suspended account, gets the router's 403 for cached figures",
    () =>
      Effect.gen(function* () {
        const answers = yield* Effect.forEach(["express", "router"] as const, (mode) =>
          Effect.gen(function* () {
            const service = yield* start(mode, {
              provider: newProvider().layer,
              rateLimit: { requests: 3, per: Duration.minutes(10) },
            })
            const known = plain("known-1.example.com")
            const reader = yield* service.newClient(10, ["read"])
            const former = yield* service.newClient(10)
            yield* service.suspend(former.account)
            const answers = yield* Effect.forEach([reader, former], ({ key }) =>
              Effect.replicateEffect(service.send(requestOf(known, key)), 4),
            )
            assert.strictEqual(service.answered(), 0)
            for (const { account } of [reader, former]) {
              assert.deepStrictEqual((yield* service.booksOf(account)).charged, 0)
            }
            return answers.flat().map(comparable)
          }),
        )
        const [express, router] = answers
        assert.deepStrictEqual(express, router)
        assert.deepStrictEqual(
          express?.map(({ status }) => status),
          Array(8).fill(403),
        )
      }),
  )

  it.scopedLive.each(wrappers)(
    "no request takes the fast path, which bypasses the HTTP router, if the %s is wrapped",
    ([, replace]) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* askTwice({ replace }), 0)
      }),
  )
})
