/**
 * The work of `peer.ts` for bought figures on the service's libraries in their plain form: HttpApi
 * and Schema for the request and the answer, @effect/sql-sqlite-node for two transactions, and
 * `node:http` for the vendor. It checks no API key and replays no answer. Prints its address.
 *
 *     node plain-server.ts URL    buys figures from the fake vendor at URL
 */
import { createHash, randomUUID } from "node:crypto"
import { createServer } from "node:http"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Exchange from "../../src/providers/Exchange.ts"
import { figuresIn, pageOf, questionOf } from "./moz.ts"
import { batchPath, credits } from "./requests.ts"

const [vendor = ""] = process.argv.slice(2)

const Url = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1000))
const Question = Schema.Struct({
  urls: Schema.Array(Url).pipe(Schema.minItems(1), Schema.maxItems(50)),
})

const Answer = Schema.Struct({
  success: Schema.Boolean,
  data: Schema.Struct({
    successUrls: Schema.Array(
      Schema.Struct({
        url: Schema.String,
        domainAuthority: Schema.Number,
        pageAuthority: Schema.Number,
        spamScore: Schema.Number,
      }),
    ),
    failedUrls: Schema.Array(Schema.Struct({ url: Schema.String, reason: Schema.String })),
  }),
  quota: Schema.Struct({ creditsUsed: Schema.Number }),
})

const Bought = Schema.Struct({
  result: Schema.Struct({
    results_by_site: Schema.Array(
      Schema.Struct({
        site_query: Schema.Struct({
          original_site_query: Schema.Struct({ query: Schema.String }),
        }),
        site_metrics: Schema.Struct({
          domain_authority: Schema.Number,
          page_authority: Schema.Number,
          spam_score: Schema.Number,
        }),
      }),
    ),
  }),
})
const decodeBought = Schema.decodeUnknown(Schema.parseJson(Bought))

const api = HttpApi.make("plain").add(
  HttpApiGroup.make("metrics").add(
    HttpApiEndpoint.post("batch", batchPath).setPayload(Question).addSuccess(Answer),
  ),
)

const account = "account"

const buy = Effect.fnUntraced(function* (pages: ReadonlyArray<string>) {
  const { body } = yield* Exchange.send({
    url: vendor,
    headers: { "content-type": "application/json" },
    body: questionOf(pages),
  })
  return figuresIn(yield* decodeBought(body))
})

const check = Effect.fnUntraced(function* (urls: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const key = headers["idempotency-key"] ?? ""
  const fingerprint = createHash("sha256").update(JSON.stringify(urls)).digest("hex")
  const request = randomUUID()
  const checks = urls.map((url) => ({ url, page: pageOf(url) }))
  const pages = checks.map(({ page }) => page).filter((page) => page !== undefined)
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`INSERT INTO receipts VALUES (${account}, ${key}, ${fingerprint}, NULL) ON CONFLICT DO NOTHING`
      yield* sql`UPDATE accounts SET available = available - ${pages.length} WHERE id = ${account}`
      yield* sql`INSERT INTO holds VALUES (${request}, ${account}, ${pages.length})`
    }),
  )
  const figures = yield* buy(pages)
  const successUrls = checks.flatMap(({ page = "", url }) => {
    const found = figures.get(page)
    return found === undefined ? [] : [{ url, ...found }]
  })
  const creditsUsed = successUrls.length
  const answer = { success: true, data: { successUrls, failedUrls: [] }, quota: { creditsUsed } }
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`DELETE FROM holds WHERE request = ${request}`
      yield* sql`INSERT INTO entries VALUES (${request}, ${account}, ${creditsUsed})`
      yield* sql`UPDATE receipts SET answer = ${JSON.stringify(answer)} WHERE account = ${account} AND key = ${key}`
    }),
  )
  return answer
})

const handlers = HttpApiBuilder.group(api, "metrics", (group) =>
  group.handle("batch", ({ payload }) => Effect.orDie(check(payload.urls))),
)

const tables = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`PRAGMA synchronous = FULL`
    yield* sql`CREATE TABLE accounts (id TEXT PRIMARY KEY, available INTEGER) WITHOUT ROWID`
    yield* sql`CREATE TABLE holds (request TEXT PRIMARY KEY, account TEXT, amount INTEGER)`
    yield* sql`CREATE TABLE entries (request TEXT, account TEXT, amount INTEGER)`
    yield* sql`CREATE TABLE receipts (account TEXT, key TEXT, fingerprint TEXT, answer TEXT, PRIMARY KEY (account, key))`
    yield* sql`INSERT INTO accounts VALUES (${account}, ${credits})`
  }),
)

const printAddress = HttpServer.addressWith((address) =>
  Effect.sync(() => {
    const port = address._tag === "TcpAddress" ? address.port : 0
    console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, keys: ["any-key"] }))
  }),
)

HttpApiBuilder.serve().pipe(
  Layer.merge(Layer.effectDiscard(printAddress)),
  Layer.provide(HttpApiBuilder.api(api)),
  Layer.provide(handlers),
  Layer.provide(tables),
  Layer.provide(SqliteClient.layer({ filename: "plain.db" })),
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })),
  Layer.launch,
  NodeRuntime.runMain,
)
