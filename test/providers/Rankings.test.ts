/** The test suite of the port Rankings. It runs over every database. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { type Ranked, Rankings } from "../../src/providers/dataset/Rankings.ts"
import * as SqlRankings from "../../src/providers/dataset/SqlRankings.ts"
import { databases } from "../support/Stores.ts"

const list = (...ranked: ReadonlyArray<readonly [string, number]>): ReadonlyArray<Ranked> =>
  ranked.map(([name, rank]) => ({ name, rank }))

/** Runs an import. An import sleeps between its statements, so the test clock must advance. */
const replace = <E>(rows: Stream.Stream<ReadonlyArray<Ranked>, E>) =>
  Effect.gen(function* () {
    const rankings = yield* Rankings
    yield* TestClock.adjust("1 millis")
    const importing = yield* Effect.fork(Effect.exit(rankings.replace(rows, "tranco")))
    while ((yield* Fiber.poll(importing))._tag === "None") yield* TestClock.adjust("5 millis")
    return yield* Effect.flatten(Fiber.join(importing))
  })

const ranks = (...names: Arr.NonEmptyReadonlyArray<string>) =>
  Effect.flatMap(Rankings, (rankings) =>
    Effect.map(rankings.ranks(names), (found) => Object.fromEntries(found)),
  )

for (const [name, database] of databases) {
  describe(`Rankings in ${name}`, () => {
    const test = (title: string, body: Effect.Effect<void, unknown, Rankings>) =>
      it.effect(title, () => Effect.provide(body, Layer.provide(SqlRankings.layer, database)))

    test(
      "no host name has a rank before the first import",
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* ranks("example.com"), {})
      }),
    )

    test(
      "the current ranking has the name and time of the last import",
      Effect.gen(function* () {
        const { current } = yield* Rankings
        assert.deepStrictEqual(yield* current, Option.none())
        yield* replace(Stream.make(list(["a.com", 1])))
        const now = yield* Clock.currentTimeMillis
        const imported = yield* Effect.flatten(current)
        assert.strictEqual(imported.name, "tranco")
        assert.isTrue(imported.at !== null && imported.at > 0 && imported.at <= now)
        yield* replace(Stream.fail("the disk is gone")).pipe(Effect.flip)
        assert.deepStrictEqual(yield* current, Option.some(imported))
      }),
    )

    test(
      "an imported rank list replaces the old one",
      Effect.gen(function* () {
        yield* replace(Stream.make(list(["a.com", 1], ["b.com", 2]), list(["c.com", 3])))
        assert.deepStrictEqual(yield* ranks("a.com", "c.com", "x.com"), { "a.com": 1, "c.com": 3 })
        yield* replace(Stream.make(list(["c.com", 1])))
        assert.deepStrictEqual(yield* ranks("a.com", "b.com", "c.com"), { "c.com": 1 })
      }),
    )

    test(
      "if a rank list contains a host name twice, the better rank counts",
      Effect.gen(function* () {
        yield* replace(
          Stream.make(list(["a.com", 5], ["a.com", 2], ["b.com", 1]), list(["a.com", 3])),
        )
        assert.deepStrictEqual(yield* ranks("a.com"), { "a.com": 2 })
      }),
    )

    test(
      "the old rank list stays in use until the import of a new rank list has succeeded",
      Effect.gen(function* () {
        yield* replace(Stream.make(list(["a.com", 1])))
        const seen: Array<unknown> = []
        const rankings = yield* Rankings
        const look = Effect.map(rankings.ranks(["a.com", "b.com"]), (found) =>
          seen.push(Object.fromEntries(found)),
        )
        const failing = Stream.make(list(["b.com", 1])).pipe(
          Stream.concat(Stream.drain(Stream.fromEffect(look))),
          Stream.concat(Stream.fail("the disk is gone")),
        )
        assert.strictEqual(yield* Effect.flip(replace(failing)), "the disk is gone")
        yield* look
        assert.deepStrictEqual(seen, [{ "a.com": 1 }, { "a.com": 1 }])
        yield* replace(Stream.make(list(["b.com", 1])))
        assert.deepStrictEqual(yield* ranks("a.com", "b.com"), { "b.com": 1 })
      }),
    )

    test(
      "a rank list of 25,000 names is imported in chunks",
      Effect.gen(function* () {
        const many = Arr.makeBy(25_000, (i) => ({ name: `n${i}.com`, rank: i + 1 }))
        yield* replace(Stream.fromIterable(Arr.chunksOf(many, 4000)))
        yield* replace(Stream.fromIterable(Arr.chunksOf(many, 7000)))
        assert.deepStrictEqual(yield* ranks("n0.com", "n9999.com", "n24999.com"), {
          "n0.com": 1,
          "n9999.com": 10_000,
          "n24999.com": 25_000,
        })
      }),
    )
  })
}
