/** Tests the connection to a fake PgBouncer that rejects logins because its server is down. */
import * as Net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Failure from "../../src/sql/Failure.ts"
import * as PostgresClient from "../../src/sql/Postgres.ts"
import * as Proxy from "../../scripts/support/Proxy.ts"
import { temporaryDatabase } from "../support/Stores.ts"

/** Refuses TLS, then sends an error with the code of a lost connection. */
const closed = Effect.acquireRelease(
  Effect.async<Net.Server>((resume) => {
    let asked = 0
    const server = Net.createServer((socket) => {
      socket.on("error", () => {})
      socket.on("data", (bytes) => {
        if (bytes.length === 8) return void socket.write("N")
        const fields = Buffer.from("SFATAL\0C08P01\0Mserver login has been failing\0\0")
        const length = Buffer.alloc(4)
        length.writeInt32BE(4 + fields.length)
        // Answers come in another order than the requests.
        const delayMs = (asked++ % 7) * 5
        setTimeout(() => socket.end(Buffer.concat([Buffer.from("E"), length, fields])), delayMs)
      })
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => void server.close()),
)

describe("many connections through a PgBouncer that rejects logins", () => {
  it.scopedLive(
    "a PgBouncer without TLS that rejects logins is reported as an unreachable database",
    () =>
      Effect.gen(function* () {
        const address = (yield* closed).address()
        const port = typeof address === "object" ? address?.port : undefined
        const proxy = yield* Proxy.make(yield* temporaryDatabase)
        const context = yield* Layer.build(PostgresClient.layer(proxy.url))
        proxy.turnTo(`postgres://127.0.0.1:${port}`)
        proxy.cut()
        const sql = Context.get(context, SqlClient.SqlClient)
        const errors = yield* Effect.forEach(
          Array(300).keys(),
          (i) => Effect.flip(Effect.delay(sql`SELECT 1`, i)),
          { concurrency: 40 },
        )
        const messages = new Set(errors.map((error) => Failure.describe(error).message))
        assert.deepStrictEqual(
          [...messages].filter((one) => !one.startsWith("the database cannot be reached")),
          [],
        )
      }),
  )
})
