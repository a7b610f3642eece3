/**
 * `authority doctor --prove`: runs the ledger in a schema of its own on a PostgreSQL, with two
 * processes and with faults, and finds out which properties the database has.
 */
import { randomBytes } from "node:crypto"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Schedule from "effect/Schedule"
import { complete, fail, type Finding, needed, pass, Stopped, unknown } from "../prove/Finding.ts"
import * as SqlAccounts from "../sql/Accounts.ts"
import * as SqlAuditLog from "../sql/AuditLog.ts"
import * as SqlCreditLedger from "../sql/CreditLedger.ts"
import * as Migrations from "../sql/Migrations.ts"
import * as Postgres from "../sql/Postgres.ts"
import * as PostgresServer from "../sql/PostgresServer.ts"
import { placeOf } from "../sql/Presence.ts"
import * as Ground from "../sql/ProvingGround.ts"
import { proveLedger } from "./proveLedger.ts"
import { databaseUrl, lease, pointed } from "./proveMember.ts"

/**
 * Examines the database of AUTHORITY_PROVE_URL, and lets the ledger run for some seconds. Returns a
 * finding for each property. Drops what it made, also when it is interrupted.
 */
export const prove = (seconds: number) =>
  Effect.gen(function* () {
    const url = yield* databaseUrl
    const found: Array<Finding> = []
    const add = (finding: Finding) => void found.push(finding)
    yield* examine(url, seconds, add).pipe(
      Effect.scoped,
      // An interrupted proof proves nothing, so it must not exit with 0.
      Effect.onInterrupt(() => Effect.sync(() => void (process.exitCode = 1))),
      Effect.catchTag("Stopped", ({ finding }) => Effect.sync(() => add(finding))),
      // The faults make the stores log warnings.
      Logger.withMinimumLogLevel(LogLevel.None),
    )
    return complete(found)
  })

const examine = Effect.fnUntraced(function* (
  url: string,
  seconds: number,
  add: (finding: Finding) => void,
) {
  const name = `authority_prove_${randomBytes(6).toString("hex")}`
  const server = yield* Postgres.layer(pointed(url, `${name}_server`), { connections: 1 }).pipe(
    Layer.build,
    needed("connection"),
  )
  yield* Effect.provide(examineServer(url, add), server)
  yield* Effect.acquireRelease(Ground.createSchema(name), () => removed(name)).pipe(
    needed("schema"),
    Effect.provide(server),
  )
  const stores = yield* storesIn(url, name)
  add(pass("schema", "the tables of the service were created in a schema of their own"))
  yield* Console.error(
    `the ledger runs for ${seconds} s in the schema ${name}, which is dropped at the end`,
  )
  yield* Effect.provide(proveLedger(url, { name, seconds }, add), stores)
})

/** Examines the server's settings, its clock, and whether it takes writes. */
const examineServer = Effect.fnUntraced(function* (url: string, add: (finding: Finding) => void) {
  const facts = yield* needed("connection")(PostgresServer.examine)
  add(pass("connection", `PostgreSQL ${facts.version} at ${placeOf(url)}`))
  add(durability(facts))
  const aheadMs = yield* needed("clock")(Ground.clockAheadMs)
  const clock = `the server's clock is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? "behind" : "ahead of"} this machine's`
  add(
    Math.abs(aheadMs) <= 1000
      ? pass("clock", clock)
      : fail("clock", `${clock}; synchronise both clocks by NTP`),
  )
  if (facts.isStandby || facts.isReadOnly) {
    const why = facts.isStandby
      ? "the server is a standby, which is read-only; set AUTHORITY_PROVE_URL to the primary"
      : "default_transaction_read_only is on; set it off for this role and database"
    return yield* new Stopped({ finding: fail("writable primary", why) })
  }
  add(pass("writable primary", "the server takes writes"))
  yield* needed("transactions")(Ground.transaction)
  add(pass("transactions", "several statements make one transaction"))
})

const durability = (facts: Effect.Effect.Success<typeof PostgresServer.examine>) => {
  const { fsync, fullPageWrites, synchronousCommit } = facts
  const settings = `fsync is ${fsync}, full_page_writes is ${fullPageWrites}, synchronous_commit is ${synchronousCommit}`
  if (fsync === "off") {
    const danger = "a crash of the server can lose or damage acknowledged charges"
    return fail("durability", `${settings}, so ${danger}; turn fsync on`)
  }
  if (fsync !== "on" || fullPageWrites !== "on") {
    const question = "a commit survives a crash, and pages are never written in part"
    return unknown("durability", `${settings}; ask who runs the server whether ${question}`)
  }
  const isRaised = synchronousCommit === "off"
  return pass(
    "durability",
    isRaised ? `${settings}, which each transaction of the service turns on` : settings,
  )
}

/** The tables and stores of the service in the schema. */
const storesIn = Effect.fnUntraced(function* (url: string, name: string) {
  const client = yield* Postgres.layer(pointed(url, `${name}_server`, name), {
    connections: 2,
  }).pipe(
    Layer.build,
    Effect.mapError(({ message }) => ({
      message: /startup parameter/.test(message) ? poolerInTheWay : message,
    })),
    needed("schema"),
  )
  const current = yield* Ground.currentSchema.pipe(Effect.provide(client), needed("schema"))
  if (current !== name) {
    return yield* new Stopped({ finding: fail("schema", poolerInTheWay) })
  }
  return yield* Layer.mergeAll(
    SqlAccounts.layer,
    SqlAuditLog.layer,
    SqlCreditLedger.layer({ lease }),
  ).pipe(
    Layer.provideMerge(Migrations.layer),
    Layer.provideMerge(Layer.succeedContext(client)),
    Layer.build,
    needed("schema"),
  )
})

const poolerInTheWay =
  "a pooler such as PgBouncer does not pass on the startup parameter 'options', which keeps the proof in its own schema; set AUTHORITY_PROVE_URL to the server itself"

/** Tries several times, because the schema must not stay. */
const removed = (name: string) =>
  Ground.dropSchema(name).pipe(
    Effect.timeout("20 seconds"),
    Effect.retry({ times: 3, schedule: Schedule.spaced("1 second") }),
    Effect.catchAll(({ message }) => {
      process.exitCode = 1
      return Console.error(
        `the schema ${name} could not be dropped (${message}); type DROP SCHEMA ${name} CASCADE in the database`,
      )
    }),
  )
