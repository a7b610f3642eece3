/** A PostgreSQL that stops answering, and one whose answer to COMMIT is lost. */
import { afterAll, beforeAll, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import * as Postgres from "../support/Postgres.ts"
import * as Proxy from "../support/Proxy.ts"
import { newDatabaseOn } from "../support/Stores.ts"
import { suite } from "../support/undecided.ts"

let server: Postgres.Server

beforeAll(async () => {
  server = await Postgres.start({ durable: false })
}, 60_000)

afterAll(() => server.destroy())

const stoppedPostgres = Effect.gen(function* () {
  const thaw = Effect.sync(() => server.thaw())
  const url = yield* newDatabaseOn(server.url)
  return {
    client: PostgresClient.layer(url),
    freeze: Effect.sync(() => server.freeze()),
    thaw,
  }
})

/** The next COMMIT arrives, and its answer is never heard. */
const silentCommit = Effect.gen(function* () {
  const proxy = yield* Proxy.make(yield* newDatabaseOn(server.url))
  return {
    client: PostgresClient.layer(proxy.url, { silence: "3 seconds" }),
    freeze: Effect.sync(() => proxy.doom("silence")),
    thaw: Effect.void,
  }
})

describe("a stopped PostgreSQL", () => suite(stoppedPostgres, { reads: false }))

describe("a PostgreSQL whose answer to COMMIT is lost", () => suite(silentCommit, { reads: true }))
