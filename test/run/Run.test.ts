/** The engine of `authority check` and of the console, over HTTP against the service. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as v from "valibot"
import { vi } from "vitest"
import { AccountName } from "../../src/Account.ts"
import { AuthorityMetrics, type Options } from "../../src/client/PromiseClient.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { Batch, Entry, type Journal } from "../../src/run/Journal.ts"
import { describe as describePlan } from "../../src/run/PlanText.ts"
import { type Connect, Run } from "../../src/run/Run.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import { checked, failed, make, succeeding } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"

/** A journal that survives its run, as text. */
const memory = () => {
  const entries = new Map<string, string>()
  const batches = new Map<string, string>()
  const journal: Journal = {
    read: async () => ({
      entries: [...entries.values()].map((text) => v.parse(Entry, JSON.parse(text))),
      batches: [...batches.values()].map((text) => v.parse(Batch, JSON.parse(text))),
    }),
    keepEntries: async (fresh) => {
      for (const entry of fresh) entries.set(entry.url, JSON.stringify(entry))
    },
    keepBatch: async (batch) => void batches.set(batch.key, JSON.stringify(batch)),
    removeBatch: async (key) => void batches.delete(key),
  }
  /** Lets every batch look as if it had been sent earlier. */
  const age = (ms: number) => {
    for (const [key, text] of batches) {
      const batch = v.parse(Batch, JSON.parse(text))
      batches.set(key, JSON.stringify({ ...batch, sentAt: batch.sentAt - ms }))
    }
  }
  return { journal, age }
}

/** A service with one account, and clients of it that count their requests. */
const service = (options: Parameters<typeof start>[0] = {}) =>
  Effect.gen(function* () {
    const server = yield* start(options)
    const paths: Array<string> = []
    const connecting =
      (more: Partial<Options> = {}): Connect =>
      (onRetry) =>
        AuthorityMetrics({
          apiKey: server.key,
          baseUrl: server.url,
          patienceMs: 0,
          onRetry,
          fetch: (url, request) => {
            paths.push(new URL(url).pathname)
            return fetch(url, request)
          },
          ...more,
        })
    return { ...server, paths, connecting, connect: connecting() }
  })

const begin = (journal: Journal, list: ReadonlyArray<string>, connect: Connect) =>
  Effect.promise(async () => {
    const run = await Run.open(journal)
    const plan = await run.plan(list, connect)
    return { run, plan }
  })

/** Continues the run of a journal to its end. */
const finish = (journal: Journal, list: ReadonlyArray<string>, connect: Connect) =>
  Effect.tap(begin(journal, list, connect), ({ run }) => Effect.promise(() => run.go({ connect })))

const sites = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `site${from + i}.example.com`)

/** Loses the answer to each batch after the service has given it. */
const losing = (connecting: (more: Partial<Options>) => Connect): Connect =>
  connecting({
    fetch: async (url, request) => {
      const answer = await fetch(url, request)
      if (!url.endsWith("/batch")) return answer
      await answer.text()
      throw new TypeError("the answer is lost")
    },
  })

const dayMs = 24 * 60 * 60 * 1000

describe("a run", () => {
  it.scopedLive("pays each target once, and gives every URL of the list its outcome", () =>
    Effect.gen(function* () {
      const { books, connect } = yield* service({ price: 2 })
      const list = [...sites(70), "localhost", "", ...sites(70).map((url) => `HTTP://${url}/#top`)]
      const { journal } = memory()
      const { plan, run } = yield* finish(journal, list, connect)
      assert.deepStrictEqual(plan, {
        total: 142,
        valid: 140,
        invalid: 2,
        duplicates: 70,
        answered: 0,
        oldest: undefined,
        failed: 0,
        paid: 0,
        price: 2,
        known: 70,
        toBuy: 0,
        repeated: 0,
        repeatedOthers: 0,
        maxCredits: 140,
        doubtful: { targets: 0, credits: 0 },
        givenUp: { targets: 0, credits: 0 },
        availableCredits: 1000,
      })
      assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 140])
      assert.strictEqual((yield* books).charged, 140)
      for (const url of list) {
        const outcome = run.outcomeOf(url)
        assert.strictEqual(outcome?.url, url)
        const isInvalid = url === "" || url === "localhost"
        assert.strictEqual(outcome !== undefined && "reason" in outcome, isInvalid)
        if (!isInvalid) assert.property(outcome, "provenance")
      }
    }),
  )

  it.scopedLive("asks nobody for a finished list, and pays only what is new in a changed one", () =>
    Effect.gen(function* () {
      const { books, connect, paths } = yield* service()
      const { journal } = memory()
      yield* finish(journal, sites(120), connect)
      paths.length = 0
      const same = yield* finish(journal, sites(120), connect)
      assert.deepStrictEqual([same.run.status, same.plan.answered, paths.length], ["done", 120, 0])
      const changed = [...sites(60, 61), "new.example.com", ...sites(60).toReversed()]
      const { plan, run } = yield* finish(journal, changed, connect)
      assert.deepStrictEqual(
        [plan.answered, plan.known + plan.toBuy, plan.maxCredits, plan.paid],
        [119, 2, 2, 120],
      )
      assert.isTrue(changed.every((url) => run.outcomeOf(url) !== undefined))
      assert.strictEqual((yield* books).charged, 122)
    }),
  )

  it.scopedLive(
    "repeats a batch whose answer was lost while the list has an address of it, and names the others",
    () =>
      Effect.gen(function* () {
        const { books, connect, connecting } = yield* service()
        const { journal } = memory()
        const lost = yield* finish(journal, sites(80), losing(connecting))
        assert.deepStrictEqual([lost.run.status, lost.run.creditsUsed], ["halted", 0])
        const { plan, run } = yield* finish(journal, [...sites(40), "new.example.com"], connect)
        assert.deepInclude(plan, { repeated: 50, repeatedOthers: 10, known: 1, maxCredits: 51 })
        assert.include(describePlan(plan, 0).join("\n"), "10 of them are not in the list")
        assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 51])
        assert.strictEqual((yield* books).charged, 81)
        const rest = yield* finish(journal, sites(80), connect)
        assert.deepInclude(rest.plan, { repeated: 30, repeatedOthers: 0, maxCredits: 30 })
        assert.strictEqual((yield* books).charged, 81)
      }),
  )

  it.scopedLive(
    "does not pay for a batch that never arrived when its URLs have left the list",
    () =>
      Effect.gen(function* () {
        const { books, connect, connecting } = yield* service()
        const { journal } = memory()
        const dropping = connecting({
          fetch: async (url, request) => {
            if (url.endsWith("/batch")) throw new TypeError("the batch never arrives")
            return fetch(url, request)
          },
        })
        yield* finish(journal, sites(40), dropping)
        const { plan, run } = yield* finish(journal, ["new.example.com"], connect)
        assert.deepInclude(plan, { repeated: 0, maxCredits: 1 })
        assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 1])
        assert.strictEqual((yield* books).charged, 1)
      }),
  )

  it.scopedLive("names what may be charged twice after a day, and leaves it out or checks it", () =>
    Effect.gen(function* () {
      const { books, connect, connecting } = yield* service({ price: 2 })
      const { age, journal } = memory()
      yield* finish(journal, sites(80), losing(connecting))
      age(dayMs)
      const list = [...sites(70), "new.example.com"]
      const { plan, run } = yield* finish(journal, list, connect)
      assert.deepStrictEqual(plan.doubtful, { targets: 70, credits: 140 })
      assert.deepStrictEqual([plan.repeated, plan.maxCredits], [0, 2])
      assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 2])
      assert.strictEqual(run.outcomeOf("site3.example.com"), undefined)
      assert.strictEqual((yield* books).charged, 162)
      const second = yield* begin(journal, list, connect)
      yield* Effect.promise(() => second.run.go({ connect, doubtful: "again" }))
      assert.isTrue(list.every((url) => second.run.outcomeOf(url) !== undefined))
      assert.strictEqual((yield* books).charged, 302)
      const third = yield* finish(journal, list, connect)
      assert.strictEqual(third.plan.doubtful.targets, 0)
      assert.deepStrictEqual(third.plan.givenUp, { targets: 80, credits: 160 })
    }),
  )

  it.scopedLive("does not repeat a batch after a pause of a day, until a new plan names it", () =>
    Effect.gen(function* () {
      const { books, connect, connecting } = yield* service()
      const { journal } = memory()
      const { run } = yield* finish(journal, sites(80), losing(connecting))
      assert.strictEqual(run.status, "halted")
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + dayMs })),
        () => Effect.sync(() => vi.useRealTimers()),
      )
      yield* Effect.promise(() => run.go({ connect }))
      assert.strictEqual((yield* books).charged, 80)
      const { plan } = yield* begin(journal, sites(80), connect)
      assert.strictEqual(plan.doubtful.targets, 80)
    }),
  )

  it.scopedLive("spends the last credits, stops, and goes on after a grant", () =>
    Effect.gen(function* () {
      const { account, books, connect, ledger } = yield* service({ credits: 141, price: 2 })
      const { journal } = memory()
      const { plan, run } = yield* finish(journal, sites(100), connect)
      assert.deepStrictEqual([plan.maxCredits, plan.availableCredits], [200, 141])
      assert.deepStrictEqual([run.status, run.halt?.error._tag], ["halted", "InsufficientCredits"])
      assert.deepStrictEqual([run.creditsUsed, run.halt?.availableCredits], [140, 1])
      yield* ledger.grant(account, Credits.make(60), null)
      yield* Effect.promise(() => run.go({ connect }))
      assert.deepStrictEqual([run.status, run.creditsUsed], ["done", 200])
      assert.strictEqual((yield* books).charged, 200)
    }),
  )

  it.scopedLive("pays no more than the plan said when the price rises", () =>
    Effect.gen(function* () {
      const cheap = yield* service()
      const dear = yield* service({ price: 2 })
      const { journal } = memory()
      const { run } = yield* begin(journal, sites(120), cheap.connect)
      yield* Effect.promise(() => run.go({ connect: dear.connect }))
      assert.deepStrictEqual([run.status, run.halt?.error._tag], ["halted", "InsufficientCredits"])
      assert.strictEqual((yield* dear.books).charged, 0)
      const { plan } = yield* finish(journal, sites(120), dear.connect)
      assert.strictEqual(plan.maxCredits, 240)
      assert.strictEqual((yield* dear.books).charged, 240)
    }),
  )

  it.scopedLive("waits for the rate limit, in the plan and in the batches", () =>
    Effect.gen(function* () {
      const { books, connecting, paths } = yield* service({
        rateLimit: { requests: 4, per: Duration.seconds(1) },
      })
      const connect = connecting({ patienceMs: 20_000 })
      const { run } = yield* finish(memory().journal, sites(200), connect)
      assert.strictEqual(run.status, "done")
      assert.isAbove(paths.length, 9)
      assert.strictEqual((yield* books).charged, 200)
    }),
  )

  it.scopedLive("a second stop aborts the batches in flight, which are repeated later", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
      const { books, connecting } = yield* service({ provider: provider.layer })
      const connect = connecting({ patienceMs: 20_000 })
      const { run } = yield* begin(memory().journal, sites(80), connect)
      const stopped = run.go({ connect })
      yield* eventually("the provider is asked", () => provider.calls.length === 2)
      run.stop()
      assert.strictEqual(run.status, "stopping")
      run.stop()
      yield* Effect.promise(() => stopped)
      assert.deepStrictEqual([run.status, run.progress.answered], ["stopped", 0])
      yield* gate.open
      yield* Effect.promise(() => run.go({ connect }))
      assert.deepStrictEqual([run.status, run.progress.answered], ["done", 80])
      assert.strictEqual((yield* books).charged, 80)
    }),
  )

  it.scopedLive("stops when the journal fails, and its unstored answers cost nothing more", () =>
    Effect.gen(function* () {
      const { books, connect } = yield* service()
      const { journal } = memory()
      const full: Journal = {
        ...journal,
        keepBatch: async (batch) => {
          if (batch.answer !== undefined) throw new Error("the disk is full")
          await journal.keepBatch(batch)
        },
      }
      const { run } = yield* begin(full, sites(300), connect)
      const error = yield* Effect.promise(() => run.go({ connect }).catch(String))
      assert.strictEqual(error, "Error: the disk is full")
      assert.strictEqual(run.isActive, false)
      assert.isAtMost((yield* books).charged, 200)
      const again = yield* finish(journal, sites(300), connect)
      assert.deepStrictEqual([again.run.status, again.run.creditsUsed], ["done", 300])
      assert.strictEqual((yield* books).charged, 300)
    }),
  )

  it.scopedLive(
    "previews the URLs that no earlier start has previewed, and one batch of the others",
    () =>
      Effect.gen(function* () {
        const { connect, connecting, paths } = yield* service({ price: 2 })
        const { journal } = memory()
        let left = 3
        const dying = connecting({
          fetch: (url, request) => {
            if (url.endsWith("/preview") && left-- === 0)
              throw new TypeError("the process is killed")
            return fetch(url, request)
          },
        })
        const { run } = yield* begin(journal, [], connect)
        const killed = yield* Effect.promise(() => run.plan(sites(400), dying).catch(String))
        assert.include(killed, "the process is killed")
        const previews = () => paths.filter((path) => path.endsWith("/preview")).length
        const { plan } = yield* begin(journal, sites(400), connect)
        assert.isAtMost(previews(), 6)
        assert.deepStrictEqual([plan.known, plan.toBuy, plan.maxCredits], [400, 0, 800])
        paths.length = 0
        const again = yield* begin(journal, sites(400), connect)
        assert.deepStrictEqual(again.plan, plan)
        assert.strictEqual(previews(), 1)
      }),
  )

  it.scopedLive(
    "goes on with another key of its account, and refuses a key of another account",
    () =>
      Effect.gen(function* () {
        const { account, accounts, books, connecting, keys, ledger } = yield* service()
        const { journal } = memory()
        yield* finish(journal, sites(60), losing(connecting))
        assert.strictEqual((yield* books).charged, 60)
        const other = yield* accounts.create(AccountName.make("other"))
        yield* ledger.grant(other.id, Credits.make(100), null)
        const keyOf = (account: typeof other.id) =>
          Effect.map(keys.issue({ account }), ({ key }) =>
            connecting({ apiKey: Redacted.value(key) }),
          )
        const foreign = yield* keyOf(other.id)
        const run = yield* Effect.promise(() => Run.open(journal))
        const refusal = yield* Effect.promise(() => run.plan(sites(60), foreign).catch(String))
        assert.include(refusal, "checked for the account acme so far, but the key belongs to other")
        const same = yield* finish(journal, sites(60), yield* keyOf(account))
        assert.deepStrictEqual([same.run.status, same.plan.repeated], ["done", 60])
        assert.strictEqual((yield* books).charged, 60)
        const done = yield* finish(journal, sites(60), foreign)
        assert.strictEqual(done.run.status, "done")
        assert.strictEqual(Number((yield* ledger.balance(other.id)).charged), 0)
      }),
  )

  it.scopedLive("goes on when the service does not name the account", () =>
    Effect.gen(function* () {
      const { books, connect, connecting } = yield* service()
      const { journal } = memory()
      const older = connecting({
        fetch: (url, request) =>
          url.endsWith("/key")
            ? Promise.resolve(new Response("Not found", { status: 404 }))
            : fetch(url, request),
      })
      yield* finish(journal, sites(60), losing(connecting))
      const { run } = yield* finish(journal, sites(70), older)
      assert.strictEqual(run.status, "done")
      assert.strictEqual((yield* finish(journal, sites(80), connect)).run.status, "done")
      assert.strictEqual((yield* books).charged, 80)
    }),
  )

  it.scopedLive("counts identical URLs once when the service has no preview", () =>
    Effect.gen(function* () {
      const { books, connecting } = yield* service()
      const connect = connecting({
        fetch: (url, request) =>
          url.endsWith("/preview")
            ? Promise.resolve(new Response("Not found", { status: 404 }))
            : fetch(url, request),
      })
      const list = [...sites(60), ...sites(60), "localhost"]
      const { plan, run } = yield* finish(memory().journal, list, connect)
      assert.deepStrictEqual(
        [plan.valid, plan.duplicates, plan.known, plan.maxCredits],
        [121, 60, 0, undefined],
      )
      assert.strictEqual(run.status, "done")
      assert.isTrue(list.every((url) => run.outcomeOf(url) !== undefined))
      assert.strictEqual((yield* books).charged, 60)
    }),
  )

  it.scopedLive("checks the targets again whose provider failed, and keeps their figures", () =>
    Effect.gen(function* () {
      let isFailing = true
      const provider = make((targets) =>
        Effect.succeed(targets.map((_, i) => (isFailing && i % 2 === 0 ? failed : checked()))),
      )
      const { books, connect } = yield* service({ provider: provider.layer })
      const { journal } = memory()
      const list = [...sites(20), "localhost"]
      const first = yield* finish(journal, list, connect)
      assert.deepStrictEqual(first.run.progress, { targets: 20, answered: 20, failed: 10 })
      isFailing = false
      const { run } = yield* Effect.promise(async () => {
        const run = await Run.open(journal)
        assert.strictEqual((await run.plan(list, connect)).maxCredits, 0)
        const plan = await run.plan(list, connect, { isRetry: true })
        assert.deepStrictEqual([plan.answered, plan.maxCredits], [10, 10])
        await run.go({ connect })
        return { run }
      })
      assert.deepStrictEqual(run.progress, { targets: 20, answered: 20, failed: 0 })
      assert.deepInclude(yield* books, { held: 0, charged: 20 })
      // Whatever the order of the batches.
      const reversed = async () => {
        const { batches, entries } = await journal.read()
        return { entries, batches: batches.toReversed() }
      }
      for (const read of [journal.read, reversed]) {
        const { plan } = yield* begin({ ...journal, read }, list, connect)
        assert.deepStrictEqual([plan.answered, plan.failed, plan.paid], [20, 0, 20])
      }
    }),
  )

  it.scopedLive("stops after the batches in flight, and goes on", () =>
    Effect.gen(function* () {
      const { books, connect } = yield* service()
      const { run } = yield* begin(memory().journal, sites(500), connect)
      const stopped = run.go({ connect, onChange: () => run.progress.answered > 0 && run.stop() })
      yield* Effect.promise(() => stopped)
      assert.strictEqual(run.status, "stopped")
      assert.isBelow(run.progress.answered, 500)
      yield* Effect.promise(() => run.go({ connect }))
      assert.deepStrictEqual([run.status, run.progress.answered], ["done", 500])
      assert.strictEqual((yield* books).charged, 500)
    }),
  )
})
