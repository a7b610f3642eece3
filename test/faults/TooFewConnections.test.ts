/** Tests a PostgreSQL server that allows fewer connections than its clients want. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { afterAll, beforeAll } from "vitest"

import * as Postgres from "../../scripts/support/Postgres.ts"
import { folder, run, serve } from "../support/Program.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"

/** The server's limit of connections, none of which is reserved for superusers. */
const connections = 12

let server: Postgres.Server
beforeAll(async () => {
  const parameters = [`max_connections=${connections}`, "superuser_reserved_connections=0"]
  server = await Postgres.start({ durable: false, parameters })
})
afterAll(() => server.destroy())

const Issued = Schema.parseJson(Schema.Struct({ key: Schema.String }))

describe("a PostgreSQL server with too few connections", () => {
  it.scopedLive(
    "three replicas and a CLI verb work without errors when PostgreSQL has too few connections",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const settings = { AUTHORITY_DATABASE_URL: `${server.url}/postgres` }
        yield* run(cwd, ["account", "create", "acme", "--credits", "100000"], settings)
        const { stdout } = yield* run(
          cwd,
          ["key", "create", "--account", "acme", "--json"],
          settings,
        )
        const { key } = yield* Schema.decode(Issued)(stdout)
        const replicas = yield* Effect.replicateEffect(serve(cwd, settings), 3)
        const urls = replicas.map(({ url }) => url)
        const load = yield* Effect.forkScoped(
          Effect.forEach(
            Array(3000).keys(),
            (i) => {
              const body = `{"urls":["site-${i}.example.com"]}`
              return request(urls[i % 3] ?? "", batch(key, body))
            },
            { concurrency: 96 },
          ),
        )
        const lists: Array<string> = []
        const listing = Effect.map(run(cwd, ["account", "list"], settings), ({ code, stderr }) => {
          lists.push(`${code} ${stderr}`)
        })
        yield* Effect.forkScoped(Effect.forever(listing))
        const answers = yield* Fiber.join(load)
        yield* listing
        assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
        assert.deepStrictEqual(new Set(lists), new Set(["0 "]))
        const { stdout: balance } = yield* run(
          cwd,
          ["credits", "balance", "--account", "acme", "--json"],
          settings,
        )
        assert.match(balance, /"charged":3000/)
      }),
  )
})
