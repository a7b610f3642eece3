/** The contract on the framework's own server, as another program can serve it. */
import { createServer } from "node:http"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as AuthorityCheck from "../../src/AuthorityCheck.ts"
import { Api } from "../../src/contract/Api.ts"
import * as Authorization from "../../src/http/Authorization.ts"
import { CurrentRequest } from "../../src/http/Call.ts"
import * as handlers from "../../src/http/handlers.ts"
import * as RateLimit from "../../src/http/RateLimit.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as Sandbox from "../../src/providers/Sandbox.ts"
import { RequestId } from "../../src/RequestId.ts"
import { newKey } from "../../src/server/newKey.ts"
import * as Stores from "../../src/server/Stores.ts"
import * as Settings from "../../src/Settings.ts"
import * as UsageReport from "../../src/UsageReport.ts"
import { request } from "../../scripts/support/RawHttp.ts"
import { figureHistory } from "../support/figureHistory.ts"
import { creditsPath } from "../support/TestServer.ts"

const needed = Layer.mergeAll(
  AuthorityCheck.layer({ price: Credits.make(1) }),
  RateLimit.layer(undefined),
  UsageReport.layer,
  figureHistory(),
).pipe(
  Layer.provide(Sandbox.layer),
  Layer.provideMerge(Stores.inMemory),
  Layer.provide(Settings.from({})),
)

const api = HttpLayerRouter.addHttpApi(Api).pipe(
  Layer.provide([handlers.metrics, handlers.quota]),
  Layer.provide(Authorization.layer),
)

const eachRequest = HttpLayerRouter.middleware(
  Effect.provideServiceEffect(
    CurrentRequest,
    Effect.sync(() => ({ id: RequestId.make("id"), deadline: Number.POSITIVE_INFINITY })),
  ),
  { global: true },
)

/** Sends a request with a key, and then one without. Returns the statuses. */
const statusesOf = (routes: typeof api) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      HttpLayerRouter.serve(routes, { disableListenLog: true, disableLogger: true }).pipe(
        Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })),
        Layer.provideMerge(needed),
        Layer.provide(Logger.remove(Logger.defaultLogger)),
      ),
    )
    const key = yield* Effect.provide(newKey({ account: "acme", credits: 5 }), context)
    const { address } = Context.get(context, HttpServer.HttpServer)
    const url = `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}`
    const ask = (headers: Record<string, string>) =>
      Effect.map(request(url, { path: creditsPath, headers }), ({ status }) => status)
    return [yield* ask({ "x-api-key": Redacted.value(key) }), yield* ask({})]
  })

it.scopedLive("a request without a key gets 401 after a request with one", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* statusesOf(Layer.merge(api, eachRequest)), [200, 401])
  }),
)

it.scopedLive("a server that provides no CurrentRequest admits nobody", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* statusesOf(api), [500, 401])
  }),
)
