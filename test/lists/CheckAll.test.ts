/** Tests the client's `checkAll` with a store that outlives the call. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import {
  type Answers,
  AuthorityMetrics,
  type CheckResult,
  memoryAnswers,
  type Options,
} from "../../src/client/PromiseClient.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"

const sites = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `site${from + i}.example.com`)

const service = (options: Parameters<typeof start>[0] = {}) =>
  Effect.map(start({ credits: 2000, ...options }), (server) => ({
    charged: Effect.map(server.books, ({ charged }) => charged),
    checkAll: (answers: Answers, urls: ReadonlyArray<string>, more: Partial<Options> = {}) =>
      Effect.promise(async () => {
        const client = AuthorityMetrics({ apiKey: server.key, baseUrl: server.url, ...more })
        const results: Array<CheckResult> = []
        for await (const result of client.checkAll(urls, { answers })) results.push(result)
        return results.flatMap(({ outcomes }) => outcomes)
      }),
  }))

describe("checkAll with a store", () => {
  it.scopedLive("checkAll with a store does not pay for the same targets again", () =>
    Effect.gen(function* () {
      const { charged, checkAll } = yield* service()
      const answers = memoryAnswers()
      const first = yield* checkAll(answers, sites(567))
      assert.strictEqual(yield* charged, 567)
      const list = sites(567).map((site) => `https://${site}/`)
      const again = yield* checkAll(answers, [...list, "new.example.com", "localhost"])
      assert.deepStrictEqual(
        again.slice(0, 567),
        first.map((outcome, i) => ({ ...outcome, url: list[i] })),
      )
      assert.deepStrictEqual(again.at(-1), { url: "localhost", reason: "INVALID_URL" })
      assert.strictEqual(yield* charged, 568)
    }),
  )

  it.scopedLive("checkAll with a store fetches the batches whose answers were lost", () =>
    Effect.gen(function* () {
      const { charged, checkAll } = yield* service()
      const answers = memoryAnswers()
      const lost = checkAll(answers, sites(120), {
        patienceMs: 0,
        fetch: async (url, request) => {
          const answer = await fetch(url, request)
          if (url.endsWith("/batch")) throw new TypeError("the answer is lost")
          return answer
        },
      })
      yield* Effect.exit(lost)
      const outcomes = yield* checkAll(answers, [...sites(40, 20), ...sites(100, 40)])
      assert.lengthOf(outcomes, 140)
      assert.isTrue(outcomes.every((outcome) => "domainAuthority" in outcome))
      assert.strictEqual(yield* charged, 140)
    }),
  )

  it.scopedLive("two simultaneous calls of checkAll send no target twice", () =>
    Effect.gen(function* () {
      const provider = make((targets) => Effect.delay(succeeding(targets), "50 millis"))
      const { charged, checkAll } = yield* service({ provider: provider.layer })
      const answers = memoryAnswers()
      const lists = [sites(150), sites(150, 75)]
      const all = yield* Effect.forEach(lists, (list) => checkAll(answers, list), {
        concurrency: "unbounded",
      })
      assert.isTrue(all.flat().every((outcome) => "domainAuthority" in outcome))
      assert.lengthOf(all.flat(), 300)
      assert.strictEqual(yield* charged, 225)
    }),
  )
})
