/** Tests what an operator sees of a running service: health, metrics and telemetry. */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import parsePrometheus from "parse-prometheus-text-format"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { exited, folder, openAccount, serve } from "../support/Program.ts"
import { batch } from "../support/TestServer.ts"
import { listen } from "../../scripts/support/listen.ts"
import { request } from "../support/RawHttp.ts"

const guide = readFileSync(join(import.meta.dirname, "../../src/pages/guide/monitoring.md"), "utf8")

const get = (url: string, path: string) => request(url, { path })

describe("a running service", () => {
  it.scopedLive(
    "traces and logs are exported to the OTLP endpoint under the caller's trace id",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 100)
        const collector = yield* receiver
        const running = yield* serve(cwd, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
        const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
        const parentId = "00f067aa0ba902b7"
        const call = batch(key, '{"urls":["example.com"]}')
        yield* request(running.url, {
          ...call,
          headers: {
            ...call.headers,
            traceparent: `00-${traceId}-${parentId}-01`,
            "proxy-authorization": "Basic of-a-proxy",
            "x-forwarded-access-token": "of-a-proxy",
          },
        })
        // A stopping service sends the telemetry that it has not sent yet.
        running.signal("SIGTERM")
        yield* exited(running)
        assert.isTrue(collector.received("/v1/traces", parentId))
        assert.isTrue(collector.received("/v1/traces", traceId))
        assert.isTrue(collector.received("/v1/logs", "Listening on"))
        assert.isFalse(collector.received("", key), "the export contains no key")
        assert.isFalse(collector.received("", "of-a-proxy"), "nor a proxy's secrets")
      }),
  )

  it.scopedLive(
    "the metrics count charged credits, provider calls, outcomes and cache hits, and no metric, log or trace contains the API key or the Moz token",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 100)
        const moz = yield* FakeMoz.make
        const collector = yield* receiver
        const running = yield* serve(cwd, {
          ...FakeMoz.settings(moz.url),
          AUTHORITY_LOG_LEVEL: "trace",
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        })
        const { url } = running
        yield* request(url, batch(key, '{"urls":["example.com","localhost"]}'))
        yield* request(url, batch(key, '{"urls":["example.com"]}'))
        moz.always({
          name: "an echo of the token",
          apply: (response, _, { headers }) => {
            response.writeHead(403).end(`no such token: ${headers["x-moz-token"]}`)
          },
        })
        yield* request(url, batch(key, '{"urls":["example.org"]}'))
        yield* request(url, batch(`${key}x`, '{"urls":["example.org"]}'))
        // People put keys into the query and the path by mistake.
        yield* get(url, `/v1/quota/available-credits?x-api-key=${key}`)
        yield* get(url, `/v1/${encodeURIComponent(key).replace("_", "%5F")}`)

        const { text } = yield* get(url, "/metrics")
        const families = new Map(parsePrometheus(text).map((family) => [family.name, family]))
        const labels = { provider: "moz" }
        const counted = (name: string) => families.get(name)?.metrics
        assert.deepStrictEqual(counted("authority_credits_charged_total"), [{ value: "2" }])
        assert.deepStrictEqual(counted("authority_provider_calls_total"), [{ value: "2", labels }])
        assert.deepStrictEqual(counted("authority_provider_outcomes_total"), [
          { value: "1", labels: { ...labels, outcome: "checked" } },
          { value: "1", labels: { ...labels, outcome: "failed", cause: "failed" } },
        ])
        assert.deepStrictEqual(counted("authority_provider_cache_misses_total"), [
          { value: "2", labels },
        ])
        assert.deepStrictEqual(counted("authority_provider_circuit_open"), [{ value: "0", labels }])
        assert.deepStrictEqual(counted("authority_credits_held"), [{ value: "0" }])
        assert.deepInclude(counted("authority_checks_total") ?? [], {
          value: "1",
          labels: { outcome: "INVALID_URL" },
        })
        assert.deepInclude(counted("authority_accounts_below") ?? [], {
          value: "1",
          labels: { credits: "100" },
        })
        assert.deepStrictEqual(counted("authority_provider_cache_hits_total"), [
          { value: "1", labels },
        ])
        assert.deepStrictEqual(counted("authority_provider_failed_calls_total"), [
          { value: "1", labels: { ...labels, reason: "Refused" } },
        ])
        for (const name of [
          "authority_http_request_seconds",
          "authority_ledger_commit_commands",
          "authority_ledger_commit_seconds",
          "authority_provider_call_seconds",
        ]) {
          assert.strictEqual(families.get(name)?.type, "HISTOGRAM", name)
        }
        for (const name of families.keys()) {
          if (name.startsWith("authority_")) assert.match(guide, new RegExp(`\`${name}[\`{]`))
        }
        for (const name of [
          "nodejs_eventloop_lag_mean_seconds",
          "nodejs_heap_size_used_bytes",
          "process_resident_memory_bytes",
        ]) {
          assert.strictEqual(families.get(name)?.type, "GAUGE", name)
        }

        running.signal("SIGTERM")
        assert.strictEqual(yield* exited(running), 0)
        assert.isTrue(
          collector.received(
            "/v1/logs",
            "A call to the provider failed. If this message repeats, run 'authority doctor'.",
          ),
        )
        assert.isTrue(collector.received("/v1/logs", "Stopping, because of SIGTERM."))
        assert.isTrue(collector.received("/v1/traces", "AuthorityCheck.check"))
        assert.isTrue(collector.received("/v1/metrics", "authority_provider_failed_calls"))
        for (const secret of [key, key.slice(3), FakeMoz.token]) {
          assert.isFalse(collector.received("", secret))
          assert.notInclude(running.stdout() + running.stderr() + text, secret)
        }
      }),
  )
})

/** A fake OTLP collector, which keeps everything that is posted to it. */
const receiver = Effect.gen(function* () {
  const posted: Array<{ readonly path: string; readonly text: string }> = []
  const server = createServer((message, response) => {
    const chunks: Array<Buffer> = []
    message.on("data", (chunk: Buffer) => chunks.push(chunk))
    message.on("end", () => {
      posted.push({ path: message.url ?? "", text: Buffer.concat(chunks).toString() })
      response.setHeader("content-type", "application/json").end("{}")
    })
  })
  return {
    url: yield* listen(server),
    received: (path: string, text: string) =>
      posted.some((post) => post.path.includes(path) && post.text.includes(text)),
  }
})
