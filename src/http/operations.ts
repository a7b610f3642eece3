/** What the machines of operators ask to send requests here or elsewhere, without a key. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Health } from "../Health.ts"
import { type Circuit, MetricsProvider } from "../MetricsProvider.ts"
import type { Answer, Handler } from "./Answer.ts"
import { Listener } from "./NodeServer.ts"

export const paths = ["/health/live", "/health/ready"] as const

const answer = (status: number, body: object): Answer => ({
  status,
  headers: {},
  body: JSON.stringify(body),
})

/** The process runs and answers; nothing else is looked at. */
const live = Effect.succeed(answer(200, { success: true, status: "live" }))

/**
 * Told, and no reason for a 503: all replicas ask the same vendor and would be taken out at once,
 * although what is kept, and the next provider of a chain, still bring figures, and what fails
 * costs nobody anything.
 */
const stateOf = ({ objection, provider }: Circuit) => [
  provider,
  objection === undefined ? "closed" : `open: ${objection}`,
]

export const make = Effect.gen(function* () {
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
      ? answer(200, { success: true, status: "ready", parts })
      : answer(503, { success: false, message: "Not ready for requests.", parts })
  })

  return { "/health/live": () => live, "/health/ready": () => ready } satisfies Record<
    (typeof paths)[number],
    Handler
  >
})
