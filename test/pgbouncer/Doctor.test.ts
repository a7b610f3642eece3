/** What the doctor reports about a PgBouncer between the program and the server. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as PgBouncer from "../support/PgBouncer.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { folder, run } from "../support/Program.ts"
import { newDatabaseOn } from "../support/Stores.ts"

const timeout = 120_000

const server = { url: "" }
let stop = async () => {}

beforeAll(async () => {
  const postgres = await Postgres.start({ durable: false })
  stop = postgres.destroy
  server.url = postgres.url
})

afterAll(() => stop())

it.scopedLive.each<[mode: PgBouncer.Options["poolMode"], code: number, line: RegExp]>([
  ["session", 0, /ok +pooler: in session mode\n/],
  ["transaction", 0, /ok +pooler: in transaction mode\n/],
  [
    "statement",
    1,
    /failure +pooler: in statement mode, which does not allow transactions; set pool_mode to /,
  ],
])(
  "the doctor reports PgBouncer's pool mode %s",
  ([poolMode, code, line]) =>
    Effect.gen(function* () {
      const pgbouncer = yield* Effect.acquireRelease(
        Effect.promise(() => PgBouncer.start({ poolMode, server: server.url })),
        ({ destroy }) => Effect.promise(destroy),
      )
      const url = Redacted.value(yield* newDatabaseOn(server.url))
      const cwd = yield* folder
      yield* run(cwd, ["account", "create", "acme"], { AUTHORITY_DATABASE_URL: url })

      const behind = pgbouncer.url + new URL(url).pathname
      const doctor = yield* run(cwd, ["doctor"], { AUTHORITY_DATABASE_URL: behind })
      assert.strictEqual(doctor.code, code, doctor.stdout)
      assert.match(doctor.stdout, line)
      assert.match(
        doctor.stdout,
        /TLS: not in use \(from this program to the pooler\); TLS is not in use from the pooler to the server\n/,
      )
      if (poolMode === "statement") {
        assert.match(
          doctor.stdout,
          /failure +writing: PgBouncer's pool_mode=statement does not allow /,
        )
        assert.notInclude(doctor.stdout, "cannot be reached")
      }
    }),
  timeout,
)
