/** Remembers how long the calls to one vendor took, and why the last ones failed. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Calls, ProviderError } from "../MetricsProvider.ts"

const kept = 10

/** The share of one call in the average latency. */
const weight = 0.1

export class CallLog {
  latencyMs: number | null = null
  errors: Calls["errors"] = []

  took(ms: number) {
    this.latencyMs = this.latencyMs === null ? ms : this.latencyMs + weight * (ms - this.latencyMs)
  }

  failed({ message, reason }: ProviderError): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (at) => {
      this.errors = [{ at, reason, message }, ...this.errors.slice(0, kept - 1)]
    })
  }
}
