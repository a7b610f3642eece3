/** The health endpoints for load balancers and operators. They need no API key. */
import type * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Health } from "../Health.ts"
import { type Circuit, MetricsProvider } from "../MetricsProvider.ts"
import { Listener } from "./NodeServer.ts"

export const paths = ["/health/live", "/health/ready"] as const

/**
 * An open circuit is reported but does not cause a 503. With a 503, the load balancer would stop
 * using all replicas at once, although cached figures and the next provider in the chain still
 * work.
 */
const stateOf = ({ openReason, provider }: Circuit) => [
  provider,
  openReason === undefined ? "closed" : `open: ${openReason}`,
]

const working = "working"

/**
 * Adds two routes. `/health/live` answers 200 while the process runs. `/health/ready` reports the
 * state of each part, with 200 when this process can serve requests and 503 when it cannot.
 */
export const add = (router: HttpLayerRouter.HttpRouter) =>
  Effect.gen(function* () {
    const health = yield* Health
    const listener = yield* Listener
    const { circuits = Effect.succeed([]) } = yield* MetricsProvider
    yield* router.add(
      "GET",
      "/health/live",
      Effect.sync(() => HttpServerResponse.unsafeJson({ success: true, status: "live" })),
    )
    yield* router.add(
      "GET",
      "/health/ready",
      Effect.gen(function* () {
        const stores = yield* Effect.either(health.stores)
        const isMigrated = Either.isRight(stores) && stores.right.isMigrated
        const writes = Either.match(stores, {
          onLeft: () => "unknown",
          onRight: ({ trouble }) => trouble ?? working,
        })
        const parts = {
          server: listener.isDraining() ? "draining" : "listening",
          database: Either.match(stores, {
            onLeft: () => "unreachable",
            onRight: ({ description }) => description,
          }),
          writes,
          migrations: isMigrated ? "done" : Either.isRight(stores) ? "missing" : "unknown",
          circuits: Object.fromEntries((yield* circuits).map(stateOf)),
        }
        return isMigrated && writes === working && !listener.isDraining()
          ? HttpServerResponse.unsafeJson({ success: true, status: "ready", parts })
          : HttpServerResponse.unsafeJson(
              { success: false, message: "Not ready for requests.", parts },
              { status: 503 },
            )
      }),
    )
  })
