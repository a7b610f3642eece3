/**
 * Tests the public entry points: the service with layers of the host program, and the service for
 * tests.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import * as Provider from "../../src/providers/package.ts"
import * as memory from "../support/memory.ts"
import * as Settings from "../../src/Settings.ts"
import * as Server from "../../src/server/public.ts"
import * as Testing from "../suites/public.ts"
import { newFile } from "../support/Stores.ts"

const silent = Logger.remove(Logger.defaultLogger)

const clientOf = ({ key, url }: { readonly key: string; readonly url: string }) =>
  AuthorityMetrics({ baseUrl: url, apiKey: key })

const checked = (url: string, { domainAuthority, pageAuthority, spamScore }: Provider.Metrics) => ({
  url,
  domainAuthority,
  pageAuthority,
  ...(spamScore !== undefined && { spamScore }),
})

/** A vendor without figures of example.net. It counts its calls. */
const countingVendor = () => {
  const calls: Array<number> = []
  const layer = Provider.vendor({
    name: "ours",
    batchSize: 2,
    lookup: (targets) =>
      Effect.suspend(() => {
        calls.push(targets.length)
        if (calls.length === 1) {
          return new Provider.ProviderError({
            provider: "ours",
            reason: "Unavailable",
            detail: "only the first time",
          })
        }
        return Effect.succeed(
          targets.map(({ domain }) =>
            domain === "example.net"
              ? Provider.providerFailed("not in the index")
              : Provider.Outcome.Checked({ metrics: Provider.Fake.figures }),
          ),
        )
      }),
  })
  return { calls, layer }
}

/** Starts a service, checks the URLs with it, and stops it. */
const checkOnce = (
  options: Server.Options,
  urls: ReadonlyArray<string>,
  keyOf = Server.newKey({ account: "acme", credits: 10 }),
) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(Layer.provide(Server.layer(options), silent))
    const key = Redacted.value(yield* Effect.provide(keyOf, context))
    const client = clientOf({ key, url: Context.get(context, Server.Service).url })
    const { outcomes } = yield* Effect.promise(() => client.check([...urls]))
    const left = yield* Effect.promise(() => client.availableCredits())
    return { key, outcomes, left }
  }).pipe(Effect.scoped)

describe("a service embedded with the host program's vendor", () => {
  const urls = ["example.com", "example.net", "example.org"]
  const outcomes = [
    checked("example.com", Provider.Fake.figures),
    { url: "example.net", reason: "PROVIDER_ERROR" as const },
    checked("example.org", Provider.Fake.figures),
  ]

  it.scopedLive(
    "the service retries a vendor's failed calls, respects the vendor's batch size, and caches its figures",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const vendor = countingVendor()
        const settings = {
          AUTHORITY_PORT: "0",
          AUTHORITY_DATABASE_URL: `sqlite:${file}`,
          AUTHORITY_PROVIDER_CONCURRENCY: "1",
        }
        const first = yield* checkOnce({ vendor: vendor.layer, settings }, urls)
        assert.deepStrictEqual(first.outcomes, outcomes)
        assert.strictEqual(first.left, 8)
        assert.isTrue(vendor.calls.every((targets) => targets <= 2))

        // The database already has the account, its credits and the figures from the first service.
        const callsBefore = vendor.calls.length
        const again = yield* checkOnce(
          { vendor: vendor.layer, settings },
          ["example.com", "example.org"],
          Effect.succeed(Redacted.make(first.key)),
        )
        assert.strictEqual(again.left, 6)
        assert.strictEqual(vendor.calls.length, callsBefore)
      }),
  )

  it.scopedLive(
    "the service does not retry failed calls to a MetricsProvider that the host program supplies",
    () =>
      Effect.gen(function* () {
        const vendor = countingVendor()
        const { left, outcomes } = yield* checkOnce(
          {
            provider: Provider.undecorated(vendor.layer),
            stores: Server.inMemory,
            settings: { AUTHORITY_PORT: "0", AUTHORITY_CREDIT_PRICE: "3" },
          },
          ["example.com"],
        )
        assert.deepStrictEqual(outcomes, [{ url: "example.com", reason: "PROVIDER_ERROR" }])
        assert.strictEqual(left, 10)
      }),
  )
})

describe("a service embedded with the host program's ledger", () => {
  it.scopedLive(
    "the service takes the credits from the host program's ledger, and the accounts and keys from the database",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const calls: Array<keyof Server.CreditLedger["Type"]> = []
        const stores = Layer.mergeAll(
          Server.inDatabase.accounts,
          Server.inDatabase.apiKeys,
          Server.inDatabase.auditLog,
          Server.inDatabase.health,
          Server.inDatabase.metricsCache,
          Server.inDatabase.costs,
          Server.inDatabase.quoteSecret,
          ledgerOf(calls),
        )
        const settings = { AUTHORITY_PORT: "0", AUTHORITY_DATABASE_URL: `sqlite:${file}` }
        const service = Server.layer({ vendor: Provider.Fake.make().vendor, stores, settings })
        const context = yield* Layer.build(Layer.provide(service, silent))
        const key = yield* Effect.provide(Server.newKey({ account: "acme", credits: 4 }), context)
        const { url } = Context.get(context, Server.Service)
        const batch = (name: string, urls: ReadonlyArray<string>) =>
          Effect.promise(async () => {
            const answer = await fetch(`${url}/v1/metrics/da-pa/batch`, {
              method: "POST",
              headers: {
                "x-api-key": Redacted.value(key),
                "content-type": "application/json",
                "idempotency-key": name,
              },
              body: JSON.stringify({ urls }),
            })
            const { headers, status } = answer
            return {
              status,
              replayed: headers.get("idempotent-replayed"),
              body: await answer.text(),
            }
          })

        const bought = yield* batch("bought", ["example.com", "example.org"])
        const known = yield* batch("known", ["example.com"])
        assert.deepStrictEqual([bought.status, known.status], [200, 200])
        assert.deepStrictEqual(calls, ["grant", "open", "settle", "charge"])
        for (const [name, urls, first] of [
          ["bought", ["example.com", "example.org"], bought],
          ["known", ["example.com"], known],
        ] as const) {
          assert.deepStrictEqual(yield* batch(name, urls), { ...first, replayed: "true" })
        }
        assert.strictEqual((yield* batch("known", ["example.net"])).status, 422)
        assert.strictEqual((yield* batch("more", ["a.com", "b.com"])).status, 402)
        const client = clientOf({ key: Redacted.value(key), url })
        assert.strictEqual(yield* Effect.promise(() => client.availableCredits()), 1)
        const ready = yield* Effect.promise(() => fetch(`${url}/health/ready`))
        assert.strictEqual(ready.status, 200)

        const { accounts, creditLedger } = Server.inDatabase
        const inDatabase = Effect.gen(function* () {
          const { id } = yield* (yield* Server.Accounts).find("acme")
          return yield* (yield* Server.CreditLedger).balance(id)
        }).pipe(
          Effect.provide(Layer.merge(accounts, creditLedger)),
          Effect.provide(Settings.from(settings)),
          Effect.provide(silent),
        )
        assert.strictEqual(Number((yield* inDatabase).granted), 0)
      }),
  )
})

it.scopedLive("a host program's ledger that never answers does not block requests", () =>
  Effect.gen(function* () {
    const never = Layer.map(ledgerOf([]), (context) =>
      Context.add(context, Server.CreditLedger, {
        ...Context.get(context, Server.CreditLedger),
        balance: () => Effect.never,
        open: () => Effect.never,
      }),
    )
    const { layer } = Provider.Fake.make()
    const settings = { AUTHORITY_PORT: "0", AUTHORITY_REQUEST_TIMEOUT: "200ms" }
    const options = { provider: layer, stores: Layer.merge(Server.inMemory, never), settings }
    const context = yield* Layer.build(Layer.provide(Server.layer(options), silent))
    const key = yield* Effect.provide(Server.newKey({ account: "acme", credits: 4 }), context)
    const ask = (path: string, body?: string) =>
      Effect.promise(async () => {
        const headers = { "x-api-key": Redacted.value(key), "content-type": "application/json" }
        const { status } = await fetch(`${Context.get(context, Server.Service).url}${path}`, {
          ...(body !== undefined && { method: "POST", body }),
          headers,
          signal: AbortSignal.timeout(60_000),
        })
        return status
      })
    assert.deepStrictEqual(
      yield* Effect.all(
        [
          ask("/v1/quota/available-credits"),
          ask("/v1/metrics/da-pa/batch", '{"urls":["example.com"]}'),
        ],
        { concurrency: "unbounded" },
      ),
      [503, 503],
    )
  }),
)

/**
 * A ledger in memory that is not one of the service's own. It records the calls that can charge.
 */
const ledgerOf = (calls: Array<keyof Server.CreditLedger["Type"]>) =>
  Layer.effect(
    Server.CreditLedger,
    Effect.map(Server.CreditLedger, (ledger) => {
      const recorded = <Args extends ReadonlyArray<unknown>, A>(
        name: keyof typeof ledger,
        method: (...args: Args) => A,
      ) => {
        return (...args: Args) => {
          calls.push(name)
          return method(...args)
        }
      }
      return {
        ...ledger,
        open: recorded("open", ledger.open),
        settle: recorded("settle", ledger.settle),
        charge: recorded("charge", ledger.charge),
        grant: recorded("grant", ledger.grant),
      }
    }),
  ).pipe(Layer.provide(memory.ledgerAlone({ lease: "1 minute" })))

describe("the service for tests", () => {
  it("the test service answers with the test's figures, and records the calls to its provider", async () => {
    const figures = { "example.com/a": { domainAuthority: 91.5, pageAuthority: 74 } }
    const service = await Testing.start({ figures, credits: 5 })
    const client = clientOf(service)
    const { creditsUsed, outcomes } = await client.check(["https://example.com/a", "example.com"])
    assert.deepStrictEqual(outcomes, [
      checked("https://example.com/a", figures["example.com/a"]),
      { url: "example.com", reason: "PROVIDER_ERROR" },
    ])
    assert.strictEqual(creditsUsed, 1)
    assert.strictEqual(await client.availableCredits(), 4)
    assert.deepStrictEqual(service.provider.calls, [
      ["https://example.com/a", "https://example.com/"],
    ])
    await service.stop()
  })

  it("the test service has figures for every URL when the test gives no figures", async () => {
    await using service = await Testing.start()
    const { outcomes } = await clientOf(service).check(["example.com"])
    assert.deepStrictEqual(outcomes, [checked("example.com", Provider.Fake.figures)])
  })

  it("a test can make the next provider call of the test service fail, and that call is not charged", async () => {
    await using service = await Testing.start()
    service.provider.failNext("Timeout")
    const { creditsUsed, outcomes } = await clientOf(service).check(["example.com"])
    assert.deepStrictEqual(outcomes, [{ url: "example.com", reason: "PROVIDER_ERROR" }])
    assert.strictEqual(creditsUsed, 0)
    assert.strictEqual((await clientOf(service).check(["example.com"])).creditsUsed, 1)
  })

  it("figures that are not numbers fail only their own URL, which is not charged", async () => {
    const figures = JSON.parse(`{
      "example.com": { "domainAuthority": 91, "pageAuthority": 74 },
      "example.net": { "domainAuthority": "91", "pageAuthority": 74 },
      "example.org": { "domainAuthority": 91, "pageAuthority": 74, "spamScore": null }
    }`)
    await using service = await Testing.start({ figures })
    const { creditsUsed, outcomes } = await clientOf(service).check(Object.keys(figures))
    assert.strictEqual(creditsUsed, 1)
    assert.deepStrictEqual(outcomes.slice(1), [
      { url: "example.net", reason: "PROVIDER_ERROR" },
      { url: "example.org", reason: "PROVIDER_ERROR" },
    ])
  })

  it("the start of a test service rejects with the reason when a setting or a URL of its figures is invalid", async () => {
    const error = await Testing.start({ settings: { AUTHORITY_CREDIT_PRICE: "0" } }).catch(String)
    assert.match(String(error), /AUTHORITY_CREDIT_PRICE: expected a whole number/)
    const figures = { localhost: Provider.Fake.figures }
    assert.match(
      String(await Testing.start({ figures }).catch(String)),
      /"localhost": its host is not under a public domain ending/,
    )
  })
})
