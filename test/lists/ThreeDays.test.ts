/**
 * Simulates three days of one user: lists that grow, shrink, and are split, shuffled or spelled
 * differently, with lost answers, killed processes, two runs at once, stops, an exhausted account
 * and a spent budget. Each target must be charged once, and no start may cost more than its plan
 * said.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { vi } from "vitest"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { type Answers, memoryAnswers } from "../../src/lists/Answers.ts"
import { Run } from "../../src/lists/Run.ts"
import * as SqlAnswers from "../../src/lists/SqlAnswers.ts"
import { folder } from "../support/Program.ts"
import { start } from "../support/TestServer.ts"

/** A process that has the store open and can be killed. */
const processOf = (store: Answers) => {
  let isDead = false
  const ends: Array<() => void> = []
  const alive = <A>(act: () => Promise<A>) =>
    isDead ? new Promise<A>(() => {}) : act().then((a) => (isDead ? new Promise<A>(() => {}) : a))
  const answers: Answers = {
    find: (...args) => alive(() => store.find(...args)),
    pending: (...args) => alive(() => store.pending(...args)),
    take: (...args) => alive(() => store.take(...args)),
    replace: (...args) => alive(() => store.replace(...args)),
    keep: (...args) => alive(() => store.keep(...args)),
    isAtWork: (...args) => alive(() => store.isAtWork(...args)),
    enter: async () => {
      const entered = await store.enter()
      ends.push(entered.leave)
      return entered
    },
  }
  const kill = () => {
    isDead = true
    for (const leave of ends) leave()
  }
  return { answers, kill }
}

/** A browser window that cannot see which other windows are at work. */
const blind = (answers: Answers): Answers => {
  const own = new Set<string>()
  return {
    ...answers,
    enter: async () => {
      const { leave, owner } = await answers.enter()
      own.add(owner)
      const end = () => {
        own.delete(owner)
        leave()
      }
      return { owner, leave: end }
    },
    isAtWork: async (owner) => own.has(owner),
  }
}

/** Returns a generator of numbers from 0 to 1 that depend only on the seed. */
const random = (seed: number) => {
  let state = seed * 2654435761 + 1
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const spellings = [
  (host: string) => host,
  (host: string) => `https://${host}/`,
  (host: string) => `HTTP://${host.toUpperCase()}/#top`,
]

const universe = Array.from({ length: 240 }, (_, i) => `site${i}.example.com`)

/** Simulates three days with a store. Returns what was charged for each target. */
const threeDays = (store: Answers, seed: number, view = (answers: Answers) => answers) =>
  Effect.gen(function* () {
    const { account, books, keys, ledger, url: service, key } = yield* start({ credits: 40 })
    const next = random(seed)
    const upTo = (n: number) => Math.floor(next() * n)
    const charges = new Map<string, number>()
    /** Fetches, and records what the service charged, even if the answer is then lost. */
    const noting = async (url: string, request: RequestInit) => {
      // A client that gives up does not abort the request, so that its charge is recorded.
      const answer = await fetch(url, { ...request, signal: null })
      if (!url.endsWith("/batch") || answer.status !== 200) return answer
      const text = await answer.text()
      if (answer.headers.get("idempotent-replayed") !== "true") {
        const { data } = JSON.parse(text)
        for (const { url } of data.successUrls) {
          const host = new URL(url.includes("//") ? url : `http://${url}`).host
          charges.set(host, (charges.get(host) ?? 0) + 1)
        }
      }
      return new Response(text, answer)
    }
    const listOf = () => {
      const from = upTo(universe.length)
      const part = [...universe, ...universe].slice(from, from + 10 + upTo(140))
      const urls = [...part, ...part.slice(0, upTo(9))].map(
        (host) => spellings[upTo(3)]?.(host) ?? host,
      )
      return next() < 0.5 ? urls : urls.toSorted(() => next() - 0.5)
    }
    const poor = Redacted.value(
      (yield* keys.issue({ account, budget: { credits: Credits.make(30), period: "day" } })).key,
    )

    /** Starts the program once. `fault` decides how it ends. */
    const startOnce = async (fault: number) => {
      const { answers, kill } = processOf(store)
      const killed = Promise.withResolvers<void>()
      let batches = upTo(4)
      const apiKey = fault === 5 ? poor : key
      const connect = () =>
        AuthorityMetrics({
          apiKey,
          baseUrl: service,
          patienceMs: 0,
          fetch: async (url, request) => {
            const answer = await noting(url, request)
            if (!url.endsWith("/batch") || batches-- > 0) return answer
            if (fault === 1) throw new TypeError("the answer is lost")
            if (fault !== 2) return answer
            kill()
            killed.resolve()
            return new Promise(() => {})
          },
        })
      const runs = fault === 3 ? [0, 1] : [0]
      let allowed = 0
      const going = runs.map(async () => {
        const run = new Run({ answers: view(answers), connect, service, apiKey })
        const plan = await run.plan(listOf())
        allowed += plan.maxCredits ?? 0
        const isStopped = fault === 4
        await run.go({ onChange: () => isStopped && run.progress.answered > 40 && run.stop() })
      })
      await Promise.race([Promise.all(going), killed.promise])
      return allowed
    }

    for (let i = 0; i < 12; i++) {
      // Start the program four times a day, two hours apart. The fake clock stands still in
      // between.
      vi.setSystemTime(Date.now() + (i % 4 === 0 ? 18 : 2) * 60 * 60 * 1000)
      if (next() < 0.7) yield* ledger.grant(account, Credits.make(1 + upTo(60)), null)
      const before = (yield* books).charged
      const allowed = yield* Effect.promise(() => startOnce(upTo(6)))
      const { charged } = yield* books
      assert.isAtMost(charged - before, allowed, `seed ${seed}, start ${i}`)
    }
    const { charged } = yield* books
    assert.strictEqual(charged, charges.size, `seed ${seed}`)
    assert.isTrue([...charges.values()].every((times) => times === 1))
    assert.isAbove(charged, 0)
    yield* ledger.grant(account, Credits.make(1000), null)
    const run = new Run({
      answers: store,
      service,
      apiKey: key,
      connect: () => AuthorityMetrics({ apiKey: key, baseUrl: service, fetch: noting }),
    })
    const plan = yield* Effect.promise(() => run.plan(universe))
    yield* Effect.promise(() => run.go())
    assert.strictEqual(run.progress.answered + plan.doubtful.targets, universe.length)
    assert.strictEqual((yield* books).charged, charges.size, `seed ${seed}`)
  })

const fakeClock = Effect.acquireRelease(
  Effect.sync(() => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() })),
  () => Effect.sync(() => vi.useRealTimers()),
)

describe("three days of lists and faults", () => {
  it.scopedLive.each([1, 2, 3, 4, 5, 6])("charge each target once, seed %i", (seed) =>
    Effect.zipRight(fakeClock, threeDays(memoryAnswers(), seed)),
  )

  it.scopedLive.each([11, 12, 13])("charge each target once in blind windows, seed %i", (seed) =>
    Effect.zipRight(fakeClock, threeDays(memoryAnswers(), seed, blind)),
  )

  it.scopedLive(
    "three days of lists and faults charge each target once, with the answers in a file",
    () =>
      Effect.gen(function* () {
        yield* fakeClock
        yield* threeDays(yield* SqlAnswers.open(join(yield* folder, "answers.db")), 7)
      }),
  )
})
