/** Tests the engine of `authority check` and of the console over HTTP, against the service. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { vi } from "vitest"
import { AccountName } from "../../src/accounts/Account.ts"
import { AuthorityMetrics, type Options } from "../../src/client/PromiseClient.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { type Answers, memoryAnswers } from "../../src/lists/Answers.ts"
import * as Plan from "../../src/lists/Plan.ts"
import { type GoOptions, type PlanOptions, Run } from "../../src/lists/Run.ts"
import { providerFailed } from "../../src/check/Metrics.ts"
import { eventually } from "../support/eventually.ts"
import { checked, failed, make, succeeding } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"

/** Starts a service with one account. Its clients' requests are counted. */
const service = (options: Parameters<typeof start>[0] = {}) =>
  Effect.gen(function* () {
    const server = yield* start(options)
    const paths: Array<string> = []
    const runOf = (answers: Answers, more: Partial<Options> = {}) => {
      const apiKey = more.apiKey ?? server.key
      return new Run({
        answers,
        service: server.url,
        apiKey,
        connect: (onRetry) =>
          AuthorityMetrics({
            baseUrl: server.url,
            patienceMs: 0,
            onRetry,
            fetch: (url, request) => {
              paths.push(new URL(url).pathname)
              return fetch(url, request)
            },
            ...more,
            apiKey,
          }),
      })
    }
    const plan = (run: Run, list: ReadonlyArray<string>, options?: PlanOptions) =>
      Effect.promise(() => run.plan(list, options))
    const go = (run: Run, options?: GoOptions) => Effect.promise(() => run.go(options))
    /** Runs a list to its end. */
    const finish = (
      answers: Answers,
      list: ReadonlyArray<string>,
      more: Partial<Options> & PlanOptions & GoOptions = {},
    ) =>
      Effect.gen(function* () {
        const run = runOf(answers, more)
        const found = yield* plan(run, list, more)
        yield* go(run, more)
        return { run, plan: found }
      })
    const charged = Effect.map(server.books, ({ charged }) => charged)
    return { ...server, charged, paths, runOf, plan, go, finish }
  })

const sites = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `site${from + i}.example.com`)

/** Loses the answer to each batch after the service has sent it. */
const losing: Partial<Options> = {
  fetch: async (url, request) => {
    const answer = await fetch(url, request)
    if (!url.endsWith("/batch")) return answer
    await answer.text()
    throw new TypeError("the answer is lost")
  },
}

/** Makes the service answer as if it did not know the path. */
const without = (path: string): Partial<Options> => ({
  fetch: (url, request) =>
    url.endsWith(path)
      ? Promise.resolve(new Response("Not found", { status: 404 }))
      : fetch(url, request),
})

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** Lets time pass. The service and its clients share the clock. */
const later = (ms: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const now = Date.now() + ms
      if (vi.isFakeTimers()) vi.setSystemTime(now)
      else vi.useFakeTimers({ toFake: ["Date"], now })
    }),
    () => Effect.sync(() => vi.useRealTimers()),
  )

describe("a run of authority check or the console", () => {
  it.scopedLive(
    "a run pays for each target once, and gives every URL of the list its outcome",
    () =>
      Effect.gen(function* () {
        const { charged, finish } = yield* service({ price: 2 })
        const list = [
          ...sites(70),
          "localhost",
          "",
          ...sites(70).map((url) => `HTTP://${url}/#top`),
        ]
        const { plan, run } = yield* finish(memoryAnswers(), list)
        assert.deepStrictEqual(plan, {
          total: 142,
          valid: 140,
          invalid: 2,
          duplicates: 70,
          answered: 0,
          oldest: undefined,
          failed: 0,
          price: 2,
          known: 70,
          toBuy: 0,
          repeated: 0,
          repeatedOthers: [],
          maxCredits: 140,
          doubtful: { targets: 0, credits: 0 },
          availableCredits: 1000,
          budget: undefined,
        })
        assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 140])
        assert.strictEqual(yield* charged, 140)
        for (const url of list) {
          const outcome = run.outcomeOf(url)
          assert.strictEqual(outcome?.url, url)
          const isInvalid = url === "" || url === "localhost"
          assert.strictEqual(outcome !== undefined && "reason" in outcome, isInvalid)
          if (!isInvalid) assert.property(outcome, "provenance")
        }
      }),
  )

  it.scopedLive("a run buys only targets that no list of the account contained before", () =>
    Effect.gen(function* () {
      const { charged, finish, paths } = yield* service({ credits: 2000 })
      const answers = memoryAnswers()
      yield* finish(answers, sites(300))
      paths.length = 0
      const same = yield* finish(answers, sites(300).toReversed())
      assert.deepStrictEqual([same.run.status, same.plan.answered], ["done", 300])
      assert.deepStrictEqual(paths, ["/v1/key"])
      const overlapping = yield* finish(answers, [...sites(120, 180), ...sites(180, 1000)])
      assert.deepInclude(overlapping.plan, { answered: 120, maxCredits: 180 })
      const part = yield* finish(answers, [...sites(100, 100), "https://site7.example.com/#x"])
      assert.deepInclude(part.plan, { answered: 101, maxCredits: 0 })
      const grown = [...sites(700), "localhost", ...sites(5)]
      const { plan, run } = yield* finish(answers, grown)
      assert.deepInclude(plan, { answered: 300, duplicates: 5, invalid: 1, maxCredits: 400 })
      assert.strictEqual(
        Plan.sentence(plan, Date.now()),
        "706 addresses: 300 answered today (0 credits), 5 duplicates, 1 invalid, 400 to check, at most 400 credits; the account has 1,520.",
      )
      assert.isTrue(grown.every((url) => run.outcomeOf(url) !== undefined))
      assert.strictEqual(yield* charged, 880)
    }),
  )

  it.scopedLive("a run uses answers up to a given age, and buys all again when asked to", () =>
    Effect.gen(function* () {
      const { charged, finish } = yield* service()
      const answers = memoryAnswers()
      yield* finish(answers, sites(60))
      yield* later(2 * dayMs)
      const kept = yield* finish(answers, sites(60))
      assert.strictEqual(kept.plan.maxCredits, 0)
      assert.include(Plan.sentence(kept.plan, Date.now()), "60 answered in the last 3 days")
      assert.strictEqual(yield* charged, 60)
      const fresh = { maxAgeMs: dayMs }
      assert.strictEqual((yield* finish(answers, sites(60), fresh)).run.creditsUsed, 60)
      assert.strictEqual((yield* finish(answers, sites(60), fresh)).run.creditsUsed, 0)
      const again = yield* finish(answers, sites(60), { isAgain: true })
      assert.deepStrictEqual([again.plan.maxCredits, again.run.creditsUsed], [60, 60])
      assert.strictEqual(yield* charged, 180)
      yield* later(40 * dayMs)
      assert.strictEqual((yield* finish(answers, sites(60))).run.creditsUsed, 60)
    }),
  )

  it.scopedLive(
    "a run does not repeat an unknown target for an hour, but checks other failures again",
    () =>
      Effect.gen(function* () {
        let isFailing = true
        const provider = make((targets) =>
          Effect.succeed(
            targets.map(({ page }) => {
              if (page.startsWith("unknown")) return unknownTarget
              return isFailing ? failed : checked()
            }),
          ),
        )
        const { charged, finish } = yield* service({ provider: provider.layer })
        const answers = memoryAnswers()
        const list = [...sites(20), "unknown.example.com"]
        const first = yield* finish(answers, list)
        assert.deepStrictEqual(first.run.progress, { targets: 21, answered: 21, failed: 21 })
        isFailing = false
        const second = yield* finish(answers, list)
        assert.deepInclude(second.plan, { answered: 1, failed: 1, maxCredits: 20 })
        assert.deepStrictEqual(second.run.progress, { targets: 21, answered: 21, failed: 1 })
        yield* later(hourMs + 1)
        assert.deepInclude((yield* finish(answers, list)).plan, { answered: 20, maxCredits: 1 })
        assert.strictEqual(yield* charged, 20)
      }),
  )

  it.scopedLive(
    "a run repeats a batch whose answer was lost if the list still has one of its addresses, and names the others",
    () =>
      Effect.gen(function* () {
        const { charged, finish } = yield* service()
        const answers = memoryAnswers()
        const lost = yield* finish(answers, sites(80), losing)
        assert.deepStrictEqual([lost.run.status, lost.run.creditsUsed], ["halted", 0])
        const { plan, run } = yield* finish(answers, [...sites(40), "new.example.com"])
        assert.deepInclude(plan, { repeated: 50, known: 1, maxCredits: 51 })
        assert.deepStrictEqual(plan.repeatedOthers, sites(10, 40))
        assert.include(Plan.others(plan).join(), "in the same batches: site40.example.com, site41")
        assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 51])
        const rest = yield* finish(answers, sites(80))
        assert.deepInclude(rest.plan, { answered: 50, repeated: 30, maxCredits: 30 })
        assert.strictEqual(yield* charged, 81)
      }),
  )

  it.scopedLive("a run does not pay for a lost batch whose URLs are no longer in the list", () =>
    Effect.gen(function* () {
      const { charged, finish } = yield* service()
      const answers = memoryAnswers()
      yield* finish(answers, sites(40), {
        fetch: async (url, request) => {
          if (url.endsWith("/batch")) throw new TypeError("the batch never arrives")
          return fetch(url, request)
        },
      })
      const { plan, run } = yield* finish(answers, ["new.example.com"])
      assert.deepInclude(plan, { repeated: 0, maxCredits: 1 })
      assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 1])
      assert.strictEqual(yield* charged, 1)
    }),
  )

  it.scopedLive(
    "after a day, a run names what may be charged twice, and leaves it out or checks it",
    () =>
      Effect.gen(function* () {
        const { charged, finish } = yield* service({ price: 2 })
        const answers = memoryAnswers()
        const stopped = yield* finish(answers, sites(80), losing)
        yield* later(dayMs)
        yield* Effect.promise(() => stopped.run.go())
        assert.deepStrictEqual([stopped.run.status, yield* charged], ["stopped", 160])
        const list = [...sites(70), "new.example.com"]
        const { plan, run } = yield* finish(answers, list)
        assert.deepStrictEqual(plan.doubtful, { targets: 70, credits: 140 })
        assert.include(Plan.sentence(plan, Date.now()), "71 addresses: 70 in doubt, 1 to check")
        assert.deepStrictEqual([plan.repeated, plan.maxCredits], [0, 2])
        assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 2])
        assert.strictEqual(run.outcomeOf("site3.example.com"), undefined)
        assert.strictEqual(yield* charged, 162)
        const second = yield* finish(answers, list, { doubtful: "again" })
        assert.isTrue(list.every((url) => second.run.outcomeOf(url) !== undefined))
        assert.strictEqual(yield* charged, 302)
        const third = yield* finish(answers, sites(80))
        assert.strictEqual(third.plan.doubtful.targets, 10)
        assert.strictEqual(yield* charged, 302)
      }),
  )

  it.scopedLive("a run spends the last credits, stops, and continues after a grant", () =>
    Effect.gen(function* () {
      const { account, charged, finish, go, ledger } = yield* service({ credits: 141, price: 2 })
      const { plan, run } = yield* finish(memoryAnswers(), sites(100))
      assert.deepStrictEqual([plan.maxCredits, plan.availableCredits], [200, 141])
      assert.deepStrictEqual([run.status, run.halt?.error._tag], ["halted", "InsufficientCredits"])
      assert.deepStrictEqual([run.creditsUsed, run.halt?.availableCredits], [140, 1])
      yield* ledger.grant(account, Credits.make(60), null)
      yield* go(run)
      assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 200])
      assert.strictEqual(yield* charged, 200)
    }),
  )

  it.scopedLive("a run names the key's budget, and spends no more than that", () =>
    Effect.gen(function* () {
      const { account, charged, finish, keys } = yield* service()
      const budget = { credits: Credits.make(30), period: "day" } as const
      const { key } = yield* keys.issue({ account, budget })
      const { plan, run } = yield* finish(memoryAnswers(), sites(40), {
        apiKey: Redacted.value(key),
      })
      assert.include(
        Plan.sentence(plan, 0),
        "40 credits; the account has 1,000, this key's budget 30.",
      )
      assert.deepStrictEqual([run.status, run.halt?.error._tag], ["halted", "InsufficientCredits"])
      assert.isAbove(run.creditsUsed, 0)
      assert.strictEqual(yield* charged, run.creditsUsed)
    }),
  )

  it.scopedLive("a run pays no more than its plan said, even if the price rises", () =>
    Effect.gen(function* () {
      const cheap = yield* service()
      const dear = yield* service({ price: 2 })
      const run = cheap.runOf(memoryAnswers(), {
        apiKey: dear.key,
        fetch: (url, request) =>
          url.endsWith("/preview")
            ? fetch(url, { ...request, headers: { ...request.headers, "x-api-key": cheap.key } })
            : fetch(url.replace(cheap.url, dear.url), request),
      })
      yield* dear.plan(run, sites(120))
      yield* dear.go(run)
      assert.deepStrictEqual([run.status, run.halt?.error._tag], ["halted", "InsufficientCredits"])
      assert.strictEqual(yield* dear.charged, 0)
      const { plan } = yield* dear.finish(memoryAnswers(), sites(120))
      assert.strictEqual(plan.maxCredits, 240)
      assert.strictEqual(yield* dear.charged, 240)
    }),
  )

  it.scopedLive("a run waits for the rate limit, both while planning and between batches", () =>
    Effect.gen(function* () {
      const { charged, finish, paths } = yield* service({
        rateLimit: { requests: 4, per: Duration.seconds(1) },
      })
      const { run } = yield* finish(memoryAnswers(), sites(200), { patienceMs: 20_000 })
      assert.strictEqual(run.status, "done")
      assert.isAbove(paths.length, 9)
      assert.strictEqual(yield* charged, 200)
    }),
  )

  it.scopedLive(
    "stopping a run a second time aborts the batches in flight, which are repeated later",
    () =>
      Effect.gen(function* () {
        const gate = yield* Effect.makeLatch()
        const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
        const { charged, go, plan, runOf } = yield* service({ provider: provider.layer })
        const run = runOf(memoryAnswers(), { patienceMs: 20_000 })
        yield* plan(run, sites(80))
        const stopped = run.go()
        yield* eventually("the provider is asked", () => provider.calls.length === 2)
        run.stop()
        assert.strictEqual(run.status, "stopping")
        run.stop()
        yield* Effect.promise(() => stopped)
        assert.deepStrictEqual([run.status, run.progress.answered], ["stopped", 0])
        yield* gate.open
        yield* go(run)
        assert.deepStrictEqual([run.status, run.progress.answered], ["done", 80])
        assert.strictEqual(yield* charged, 80)
      }),
  )

  it.scopedLive("a run that is stopped finishes the batches in flight, and can be continued", () =>
    Effect.gen(function* () {
      const { charged, go, plan, runOf } = yield* service()
      const run = runOf(memoryAnswers())
      yield* plan(run, sites(500))
      yield* go(run, { onChange: () => run.progress.answered > 0 && run.stop() })
      assert.strictEqual(run.status, "stopped")
      assert.isBelow(run.progress.answered, 500)
      yield* go(run)
      assert.deepStrictEqual([run.status, run.progress.answered], ["done", 500])
      assert.strictEqual(yield* charged, 500)
    }),
  )

  it.scopedLive(
    "a run stops when the store fails, and fetching the unstored answers again is free",
    () =>
      Effect.gen(function* () {
        const { charged, finish, plan, runOf } = yield* service()
        const answers = memoryAnswers()
        const full: Answers = {
          ...answers,
          keep: () => Promise.reject(new Error("the disk is full")),
        }
        const run = runOf(full)
        yield* plan(run, sites(300))
        const error = yield* Effect.promise(() => run.go().catch(String))
        assert.strictEqual(error, "Error: the disk is full")
        assert.strictEqual(run.isActive, false)
        assert.isAtMost(yield* charged, 200)
        const again = yield* finish(answers, sites(300))
        assert.deepStrictEqual([again.run.status, again.run.creditsUsed], ["done", 300])
        assert.strictEqual(yield* charged, 300)
      }),
  )

  it.scopedLive("a run uses only answers of its key's own account", () =>
    Effect.gen(function* () {
      const { account, accounts, charged, finish, keys, ledger } = yield* service()
      const answers = memoryAnswers()
      yield* finish(answers, sites(60))
      const other = yield* accounts.create(AccountName.make("other"))
      yield* ledger.grant(other.id, Credits.make(100), null)
      const keyOf = (account: typeof other.id) =>
        Effect.map(keys.issue({ account }), ({ key }) => ({ apiKey: Redacted.value(key) }))
      const foreign = yield* finish(answers, sites(60), yield* keyOf(other.id))
      assert.deepInclude(foreign.plan, { answered: 0, maxCredits: 60 })
      assert.strictEqual(Number((yield* ledger.balance(other.id)).charged), 60)
      const same = yield* finish(answers, sites(60), yield* keyOf(account))
      assert.deepInclude(same.plan, { answered: 60, maxCredits: 0 })
      assert.strictEqual(yield* charged, 60)
    }),
  )

  it.scopedLive(
    "a run with a key that may not read keeps separate answers, and cannot tell the price",
    () =>
      Effect.gen(function* () {
        const { account, charged, finish, keys } = yield* service()
        const answers = memoryAnswers()
        yield* finish(answers, sites(10))
        const { key } = yield* keys.issue({ account, scopes: ["check"] })
        const apiKey = Redacted.value(key)
        const first = yield* finish(answers, [...sites(60), ...sites(5), "localhost"], { apiKey })
        assert.deepInclude(first.plan, { duplicates: 5, maxCredits: undefined, answered: 0 })
        assert.include(Plan.sentence(first.plan, 0), "61 to check, at an unknown price.")
        assert.strictEqual(first.run.status, "done")
        const second = yield* finish(answers, sites(60), { apiKey })
        assert.deepInclude(second.plan, { answered: 60, maxCredits: 0 })
        assert.strictEqual(yield* charged, 70)
      }),
  )

  it.scopedLive("a run counts identical URLs once if the service offers no preview", () =>
    Effect.gen(function* () {
      const { charged, finish } = yield* service()
      const list = [...sites(60), ...sites(60), "localhost"]
      const { plan, run } = yield* finish(memoryAnswers(), list, without("/preview"))
      assert.deepInclude(plan, { valid: 121, duplicates: 60, known: 0, maxCredits: undefined })
      assert.strictEqual(run.status, "done")
      assert.isTrue(list.every((url) => run.outcomeOf(url) !== undefined))
      assert.strictEqual(yield* charged, 60)
    }),
  )
})

describe("two simultaneous runs over one store", () => {
  it.scopedLive("two simultaneous runs send no target twice, and both get all outcomes", () =>
    Effect.gen(function* () {
      const provider = make((targets) => Effect.delay(succeeding(targets), "100 millis"))
      const { charged, go, plan, runOf } = yield* service({ provider: provider.layer })
      const answers = memoryAnswers()
      const lists = [sites(300), sites(300, 150).toReversed()]
      const runs = lists.map(() => runOf(answers))
      yield* Effect.forEach(runs, (run, i) => plan(run, lists[i] ?? []))
      yield* Effect.all(
        runs.map((run) => go(run)),
        { concurrency: "unbounded" },
      )
      for (const [i, run] of runs.entries()) {
        assert.strictEqual(run.status, "done")
        assert.isTrue(lists[i]?.every((url) => run.outcomeOf(url) !== undefined))
      }
      assert.strictEqual(yield* charged, 450)
      assert.strictEqual(provider.calls.flat().length, 450)
    }),
  )

  it.scopedLive("of two simultaneous runs, the second sends what the first could not pay for", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
      const { account, charged, go, keys, plan, runOf } = yield* service({
        provider: provider.layer,
      })
      const answers = memoryAnswers()
      const { key } = yield* keys.issue({
        account,
        budget: { credits: Credits.make(60), period: "total" },
      })
      const poor = runOf(answers, { apiKey: Redacted.value(key) })
      const rich = runOf(answers)
      yield* plan(poor, sites(100))
      const first = poor.go()
      yield* eventually("the first batch is sent", () => provider.calls.length === 1)
      yield* plan(rich, sites(100))
      const second = Effect.runPromise(go(rich))
      yield* gate.open
      yield* Effect.promise(() => Promise.all([first, second]))
      assert.strictEqual(rich.status, "done")
      assert.strictEqual(yield* charged, 100)
      assert.isAtMost(poor.creditsUsed, 60)
    }),
  )
})

const unknownTarget = providerFailed("not found", "unknown")
