/**
 * Runs the reverse proxies of the guide "Operating" in front of the service. They are Debian's
 * (`apt-get install nginx-light caddy`), or the programs in `NGINX` and `CADDY`.
 */
import { chmodSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freePort } from "../../scripts/free-port.ts"
import * as ServerProcess from "../../scripts/support/ServerProcess.ts"
import { listen } from "../../scripts/support/listen.ts"
import { request } from "../support/RawHttp.ts"
import { certificate, key } from "../support/certificates.ts"
import { blocksOf } from "../support/Guide.ts"
import { folder, openAccount, serve } from "../support/Program.ts"
import { batchPath } from "../support/TestServer.ts"

const guide = blocksOf("operating.md")
const heading = "A reverse proxy with TLS"
const token = "a-token-for-the-tests-of-32-chars"

interface Proxy {
  readonly command: ReadonlyArray<string>
  /** The proxy prints this text once it accepts connections. */
  readonly readyText: string
  readonly configuration: string
}

/** The guide's configuration without TLS, with the port and the upstream filled in. */
const proxies = {
  nginx: (port: number, upstream: string, cwd: string): Proxy => {
    const [block = ""] = guide(heading, "nginx")
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${cwd}/${name};`,
    )
    writeFileSync(join(cwd, "certificate.pem"), certificate)
    writeFileSync(join(cwd, "key.pem"), key)
    const servers = block
      .replace("127.0.0.1:8080", upstream)
      .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
      .replace("/etc/ssl/metrics.example.com.pem", `${cwd}/certificate.pem`)
      .replace("/etc/ssl/metrics.example.com.key", `${cwd}/key.pem`)
    const program = process.env["NGINX"] ?? "/usr/sbin/nginx"
    return {
      command: [program, "-c", join(cwd, "proxy.conf"), "-e", "stderr"],
      readyText: "start worker process",
      configuration: `daemon off; pid ${cwd}/nginx.pid; error_log stderr notice; events {}
        http { access_log off; ${paths.join(" ")} ${servers} }`,
    }
  },
  caddy: (port: number, upstream: string, cwd: string): Proxy => {
    const [block = ""] = guide(heading, "caddy")
    const site = block
      .replace("127.0.0.1:8080", upstream)
      .replace("metrics.example.com {", `http://metrics.example.com:${port} {`)
    const program = process.env["CADDY"] ?? "/usr/bin/caddy"
    return {
      command: [
        "env",
        `HOME=${cwd}`,
        program,
        "run",
        "--adapter",
        "caddyfile",
        "--config",
        join(cwd, "proxy.conf"),
      ],
      readyText: "serving initial configuration",
      configuration: `{
        admin off
        auto_https off
      }
      ${site}`,
    }
  },
}

/** Starts a proxy in front of the upstream, and returns its URL. */
const start = (name: keyof typeof proxies, upstream: string) =>
  Effect.gen(function* () {
    const cwd = yield* folder
    chmodSync(cwd, 0o755)
    const port = yield* Effect.promise(freePort)
    const { configuration, ...proxy } = proxies[name](port, new URL(upstream).host, cwd)
    writeFileSync(join(cwd, "proxy.conf"), configuration)
    yield* Effect.acquireRelease(
      Effect.promise(() => ServerProcess.start({ ...proxy, cwd, stopSignal: "INT", user: {} })),
      ({ stop }) => Effect.promise(stop),
    )
    return `http://127.0.0.1:${port}`
  })

const send = (url: string, apiKey: string, body: string) =>
  request(url, {
    method: "POST",
    path: batchPath,
    headers: {
      host: "metrics.example.com",
      "x-api-key": apiKey,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    },
    body,
  })

describe.each(["nginx", "caddy"] as const)("%s with the configuration of the guide", (name) => {
  it.scopedLive(
    "the reverse proxy forwards batches and the service's errors, and answers 404 for the operator's paths",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const account = yield* openAccount(cwd, 100)
        const service = yield* serve(cwd, { AUTHORITY_ADMIN_TOKEN: token })
        const url = yield* start(name, service.url)

        const answer = yield* send(url, account.key, '{"urls":["example.com"]}')
        assert.strictEqual(answer.status, 200, answer.text)
        assert.isString(answer.headers["x-request-id"])
        const tooLarge = yield* send(url, account.key, " ".repeat(600 * 1024))
        assert.deepInclude(JSON.parse(tooLarge.text), { success: false })
        assert.strictEqual(tooLarge.status, 413)
        // The service ignores letter case, repeated slashes and a trailing slash.
        const spellings = ["/METRICS", "//metrics//", "/Health//Live", "/health/ready/"]
        const admin = ["/admin/v1/audit", "/admin/openapi.json"]
        const adminSpellings = ["/Admin/V1/audit", "//admin//v1/audit/", "/%61dmin/v1/audit"]
        const health = ["/health/live", "/health/ready"]
        for (const path of ["/metrics", ...health, ...admin, ...spellings, ...adminSpellings]) {
          const { status } = yield* request(url, {
            path,
            headers: { host: "metrics.example.com", authorization: `Bearer ${token}` },
          })
          assert.strictEqual(status, 404, path)
        }
      }),
  )

  it.scopedLive("the proxy does not resend a batch when the service dies before it answers", () =>
    Effect.gen(function* () {
      const batches = new Array<string>()
      const dying = createServer((incoming, outgoing) => {
        let body = ""
        incoming.on("data", (chunk: Buffer) => (body += chunk.toString()))
        incoming.on("end", () => {
          batches.push(body)
          // The first answer leaves a kept-alive connection open, on which the second batch is
          // lost.
          if (batches.length === 1) outgoing.end("{}")
          else incoming.socket.destroy()
        })
      })
      const url = yield* start(name, yield* listen(dying))
      assert.strictEqual((yield* send(url, "am_key", "first")).status, 200)
      assert.strictEqual((yield* send(url, "am_key", "second")).status, 502)
      assert.deepStrictEqual(batches, ["first", "second"])
    }),
  )
})
