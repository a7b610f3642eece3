/** The health endpoints for load balancers and operators. They need no API key. */
import { makeRoute } from "@effect/platform/HttpRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { errorBody } from "../contract/Envelope.ts"
import { Health } from "../database/Health.ts"
import { type Circuit, MetricsProvider, reasonOf } from "../providers/MetricsProvider.ts"
import { Listener } from "./NodeServer.ts"

export const paths = ["/health/live", "/health/ready"] as const

// An open circuit is reported, but causes no 503: the load balancer would take every replica out of
// service, although cached figures and the chain's next provider still work.
const stateOf = (circuit: Circuit) => {
  const reason = reasonOf(circuit)
  const state = circuit.openReason === undefined ? "paused" : "open"
  return [
    circuit.provider,
    reason === undefined ? "closed" : `${circuit.isExhausted ? "exhausted" : state}: ${reason}`,
  ]
}

const [working, done, listening] = ["working", "done", "listening"]

const notReady = "The service is not ready for requests; the field 'parts' of this answer says why."

/**
 * `/health/live` answers 200 while the process runs, `/health/ready` while it can serve requests.
 */
export const make = Effect.gen(function* () {
  const health = yield* Health
  const listener = yield* Listener
  const { circuits } = yield* MetricsProvider
  return [
    makeRoute(
      "GET",
      "/health/live",
      Effect.sync(() => HttpServerResponse.unsafeJson({ success: true, status: "live" })),
    ),
    makeRoute(
      "GET",
      "/health/ready",
      Effect.gen(function* () {
        const stores = yield* Effect.match(health.stores, {
          onFailure: () => ({ database: "unreachable", writes: "unknown", migrations: "unknown" }),
          onSuccess: ({ description, isMigrated, trouble }) => ({
            database: description,
            writes: trouble ?? working,
            migrations: isMigrated ? done : "missing",
          }),
        })
        const parts = {
          server: listener.isDraining() ? "draining" : listening,
          ...stores,
          circuits: Object.fromEntries((yield* circuits).map(stateOf)),
        }
        const { migrations, server, writes } = parts
        return migrations === done && writes === working && server === listening
          ? HttpServerResponse.unsafeJson({ success: true, status: "ready", parts })
          : HttpServerResponse.unsafeJson({ ...errorBody(notReady), parts }, { status: 503 })
      }),
    ),
  ]
})
