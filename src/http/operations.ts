/** What operators and their machines ask, outside the contract and without a key. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Health } from "../Health.ts"
import { type Circuit, MetricsProvider } from "../MetricsProvider.ts"
import { Listener } from "./NodeServer.ts"
import * as Prometheus from "./Prometheus.ts"

export const paths = ["/health/live", "/health/ready", "/metrics"] as const

/** The process runs and answers; nothing else is looked at. */
const live = Effect.succeed(HttpServerResponse.unsafeJson({ success: true, status: "live" }))

/**
 * Told, and no reason for a 503: all replicas ask the same vendor and would be taken out at once,
 * although what is kept, and the next provider of a chain, still bring figures, and what fails
 * costs nobody anything.
 */
const stateOf = ({ objection, provider }: Circuit) => [
  provider,
  objection === undefined ? "closed" : `open: ${objection}`,
]

export const routes = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const health = yield* Health
    const listener = yield* Listener
    const { circuits = Effect.succeed([]) } = yield* MetricsProvider

    /** Whether requests should be sent here: each part by itself, 503 when one keeps them away. */
    const ready = Effect.gen(function* () {
      const stores = yield* Effect.either(health.stores)
      const isMigrated = Either.isRight(stores) && stores.right.isMigrated
      const parts = {
        server: listener.isDraining() ? "draining" : "listening",
        database: Either.match(stores, {
          onLeft: () => "unreachable",
          onRight: ({ description }) => description,
        }),
        migrations: isMigrated ? "done" : Either.isRight(stores) ? "missing" : "unknown",
        circuits: Object.fromEntries((yield* circuits).map(stateOf)),
      }
      return isMigrated && !listener.isDraining()
        ? HttpServerResponse.unsafeJson({ success: true, status: "ready", parts })
        : HttpServerResponse.unsafeJson(
            { success: false, message: "Not ready for requests.", parts },
            { status: 503 },
          )
    })

    yield* router.add("GET", "/health/live", live)
    yield* router.add("GET", "/health/ready", ready)
    yield* router.add(
      "GET",
      "/metrics",
      Effect.sync(() =>
        HttpServerResponse.text(Prometheus.text(), { contentType: Prometheus.contentType }),
      ),
    )
  }),
)
