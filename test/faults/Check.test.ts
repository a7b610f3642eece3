/** Tests the bulk check `authority check` while its service is killed, restarted or away. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { eventually } from "../support/eventually.ts"
import { csv, finished, ownService, timeout, toEnd } from "../support/BulkCheck.ts"
import { start } from "../support/Program.ts"

describe("the bulk check and a service that fails", () => {
  it.scopedLive(
    "a bulk check waits for a service that is killed and restarted, and is charged once",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, kill, list, restart, spent } = yield* ownService(20_000)
        const urls = Array.from({ length: 3000 }, (_, i) => `site${i}.example.com`)
        list(urls)
        const running = yield* start(cwd, [...args, "--output", "out.csv"])
        yield* spent(1000)
        yield* kill
        yield* eventually("the retry is reported", () => /Retrying in \d+ s/.test(running.stderr()))
        yield* restart
        yield* finished(running)
        assert.strictEqual(running.exitCode(), 0, running.stderr())
        assert.deepStrictEqual(
          csv(cwd, "out.csv").map(([name]) => name),
          urls,
        )
        assert.strictEqual((yield* books).charged, 3000)
      }),
    timeout,
  )

  it.scopedLive(
    "a bulk check waits until the hold of a killed service is released, and is charged once",
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        const settings = FakeMoz.settings(moz.url)
        const { args, books, cwd, kill, list, restart, spent } = yield* ownService(200, settings)
        list(Array.from({ length: 120 }, (_, i) => `site${i}.example.com`))
        moz.always(FakeVendor.hang)
        const running = yield* start(cwd, [...args, "--output", "out.csv"])
        yield* spent(120)
        assert.strictEqual((yield* books).held, 120)
        yield* kill
        moz.always(undefined)
        yield* restart
        yield* finished(running)
        assert.strictEqual(running.exitCode(), 0, running.stderr())
        assert.match(running.stderr(), /is in progress.* Retrying in 1 s\.$/m)
        assert.deepInclude(yield* books, { charged: 120, held: 0 })
      }),
    timeout,
  )

  it.scopedLive(
    "a bulk check ends when the service is away longer than --patience, and can be resumed later",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, kill, list, restart, spent } = yield* ownService(20_000)
        list(Array.from({ length: 3000 }, (_, i) => `site${i}.example.com`))
        const command = [...args, "--output", "out.csv", "--patience", "1s"]
        const running = yield* start(cwd, command)
        yield* spent(1000)
        yield* kill
        yield* finished(running)
        assert.strictEqual(running.exitCode(), 1)
        assert.match(
          running.stderr(),
          /authority: No connection to the service: .* \(http:\S+\); check .* URLs left; to resume, run the same command/,
        )
        yield* restart
        assert.strictEqual((yield* toEnd(cwd, [...args, "--output", "out.csv"])).code, 0)
        assert.lengthOf(csv(cwd, "out.csv"), 3000)
        assert.strictEqual((yield* books).charged, 3000)
      }),
    timeout,
  )
})
