/** Tests the program on a disk that fills up under load, and on a read-only disk. */
import { readdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { exited, json, openAccount, run, serve } from "../support/Program.ts"
import * as SmallDisk from "../support/SmallDisk.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { batch, creditsPath } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"

const missing = SmallDisk.isMissing()
if (missing !== undefined) {
  console.warn(`NOT DONE: no disk to fill (${missing}); Sqlite.test.ts fills SQLite's own limit.`)
}

const check = (url: string, key: string) =>
  request(url, batch(key, JSON.stringify({ urls: ["example.com", "example.org"] })))

/** Checks that the ledger is consistent, and returns the ids of the charged requests. */
const charges = (cwd: string) =>
  Effect.gen(function* () {
    assert.deepInclude(yield* json(cwd, "credits", "verify"), { ok: true, problems: [] })
    const statement = yield* json(cwd, "credits", "statement", "--account", "acme")
    return decodeStatement(statement).entries.flatMap(({ requestId }) => requestId ?? [])
  })

const decodeStatement = Schema.decodeUnknownSync(
  Schema.Struct({
    entries: Schema.Array(Schema.Struct({ requestId: Schema.NullOr(Schema.String) })),
  }),
)

describe.skipIf(missing !== undefined)("a disk that is full", () => {
  it.scopedLive(
    "on a full disk, requests that cost credits fail with 500 and every acknowledged charge is kept; requests succeed again once there is space",
    () =>
      Effect.gen(function* () {
        const { folder, free } = yield* SmallDisk.make(3072, 1536)
        const { key } = yield* openAccount(folder, 1_000_000)
        const running = yield* serve(folder)
        const acknowledged: Array<string> = []
        const refused: Array<string> = []
        const client = Effect.repeat(
          Effect.map(check(running.url, key), ({ headers, status, text }) =>
            status === 200
              ? acknowledged.push(String(headers["x-request-id"]))
              : refused.push(`${status} ${text}`),
          ),
          { until: () => refused.length > 50 },
        )
        yield* Effect.replicateEffect(client, 16, { concurrency: "unbounded", discard: true })

        assert.isAbove(acknowledged.length, 0)
        assert.deepStrictEqual(
          [...new Set(refused)],
          [`500 {"success":false,"message":"Internal server error."}`],
        )
        assert.include(running.stdout(), "the disk is full; free some space")
        const credits = { path: creditsPath, headers: { "x-api-key": key } }
        assert.strictEqual((yield* request(running.url, credits)).status, 200)
        assert.sameMembers(yield* charges(folder), acknowledged)

        yield* free
        const again = yield* check(running.url, key)
        assert.strictEqual(again.status, 200)
        const requestId = String(again.headers["x-request-id"])
        assert.sameMembers(yield* charges(folder), [...acknowledged, requestId])
      }),
  )
})

describe.skipIf(missing !== undefined)("a disk without space for a second database", () => {
  it.scopedLive(
    "on a full disk, the CLI verbs backup and restore fail with an error message of one line and leave the database unchanged",
    () =>
      Effect.gen(function* () {
        const { folder, free } = yield* SmallDisk.make(3072, 1536)
        const elsewhere = yield* temporaryFolder
        const { key } = yield* openAccount(folder, 1_000_000)
        const running = yield* serve(folder)
        assert.strictEqual((yield* check(running.url, key)).status, 200)
        const copy = join(elsewhere, "copy.db")
        yield* json(folder, "backup", copy)
        assert.strictEqual((yield* check(running.url, key)).status, 200)
        running.signal("SIGKILL")
        yield* exited(running)
        const { size } = statSync(copy)
        // The disk has space for half of the copy, or for the copy but not for the files that
        // SQLite needs to open the copy.
        for (const room of [size / 2, size + 12_288]) {
          const { bavail, bsize } = statfsSync(folder)
          writeFileSync(join(folder, "more"), Buffer.alloc(bavail * bsize - room, 1))
          const before = readdirSync(folder)
          for (const args of [
            ["backup", "copy.db"],
            ["restore", copy],
          ]) {
            const { code, stderr, stdout } = yield* run(folder, args)
            assert.deepStrictEqual([code, stdout], [1, ""])
            assert.match(stderr, /^authority: .*the disk is full; free some space.*\n$/)
            assert.sameMembers(readdirSync(folder), before)
          }
          rmSync(join(folder, "more"))
        }
        yield* free
        assert.strictEqual((yield* charges(folder)).length, 2)
        yield* json(folder, "backup", "copy.db")
        yield* json(folder, "restore", copy)
        assert.strictEqual((yield* charges(folder)).length, 1)
      }),
  )
})

describe.skipIf(missing !== undefined)("a read-only disk", () => {
  it.scopedLive(
    "on a read-only disk, CLI verbs fail with an error message of one line; the service starts and charges again once the disk is writable",
    () =>
      Effect.gen(function* () {
        const { folder, setReadOnly } = yield* SmallDisk.make(3072, 0)
        const { key } = yield* openAccount(folder, 1_000_000)
        yield* setReadOnly(true)
        for (const args of [
          ["serve"],
          ["credits", "grant", "--account", "acme", "--amount", "1"],
          ["backup", "copy.db"],
        ]) {
          const { code, stderr, stdout } = yield* run(folder, args, { AUTHORITY_PORT: "0" })
          assert.deepStrictEqual([code, stdout], [1, ""])
          assert.match(
            stderr,
            /^authority: the database file cannot be opened; .+ be written .+\n$/,
          )
        }
        const restored = yield* run(folder, ["restore", import.meta.filename])
        assert.deepStrictEqual([restored.code, restored.stdout], [1, ""])
        assert.match(
          restored.stderr,
          /^authority: the folder [^\n]+ cannot be written: the disk is read-only; [^\n]+\n$/,
        )
        yield* setReadOnly(false)
        const running = yield* serve(folder)
        assert.strictEqual((yield* check(running.url, key)).status, 200)
        assert.strictEqual((yield* charges(folder)).length, 1)
      }),
  )
})
