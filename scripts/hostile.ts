/**
 * Starts the service and attacks it for some seconds per attack. Prints the latency that an
 * ordinary client sees meanwhile. Fails when the service ends, an answer has the wrong status, or
 * the memory exceeds a limit. Needs Linux.
 *
 *     npm run hostile -- [--seconds 10] [--only PART-OF-A-NAME] [--elsewhere] [PROGRAM [ARGUMENT]…]
 *
 * With `--elsewhere`, the ordinary client sends its requests to a second service, which is not
 * attacked. The table then shows how much the attacks slow down any program on this machine.
 *
 * The default program is `node dist/authority.cjs`, with the heap flags of `npm start`. One process
 * bears all attacks but two, which start a service with other settings. Most of the memory of one
 * attack stays with the process until the next.
 */
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { Agent, createServer, request, type ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Worker } from "node:worker_threads"
import * as Schema from "effect/Schema"
import { maxBodyBytes } from "../src/contract/Limits.ts"
import { batchPath } from "../src/contract/Wire.ts"
import { rssMb } from "./bench/measure.ts"
import { listenOnFreePort } from "./free-port.ts"
import { heapFlags } from "./heap-flags.ts"
import * as neighbours from "./neighbours.ts"
import { decodeBatch } from "./support/postBatch.ts"
import type { Report } from "./ordinary-client.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "10" },
    only: { type: "string", default: "" },
    elsewhere: { type: "boolean", default: false },
  },
})
const attackMs = Number(values.seconds) * 1000
const [program = "", ...programArgs] =
  positionals.length === 0
    ? [process.execPath, ...heapFlags, join(import.meta.dirname, "../dist/authority.cjs")]
    : positionals.map((word) => (existsSync(word) ? resolve(word) : word))

const maxRssMb = 400
const maxConnections = 1000
const folder = mkdtempSync(join(tmpdir(), "authority-hostile-"))

/** Answers a call of the fake Moz API for these URLs. `answer` gives the correct answer. */
export type Reply = (
  urls: ReadonlyArray<string>,
  response: ServerResponse,
  answer: () => void,
) => void
const honest: Reply = (_urls, _response, answer) => answer()
let reply = honest
const vendor = createServer(async (incoming, response) => {
  const { id, params } = JSON.parse(await text(incoming))
  const queries: ReadonlyArray<{ readonly query: string }> | undefined = params.data.site_queries
  // Once a day, the service asks for its quota.
  if (queries === undefined) return void response.writeHead(404).end("{}")
  const results_by_site = queries.map((original_site_query) => ({
    site_query: { original_site_query },
    site_metrics: { domain_authority: 50, page_authority: 40, spam_score: 1 },
  }))
  const urls = queries.map(({ query }) => query)
  reply(urls, response, () =>
    response.end(JSON.stringify({ id, jsonrpc: "2.0", result: { results_by_site } })),
  )
})
const vendorPort = await listenOnFreePort(vendor)

/** Runs `act` while the vendor answers with `other`. */
const whileVendor = async <A>(other: Reply, act: () => Promise<A>) => {
  reply = other
  try {
    return await act()
  } finally {
    reply = honest
  }
}

const env = {
  AUTHORITY_PORT: "0",
  AUTHORITY_MAX_CONNECTIONS: String(maxConnections),
  AUTHORITY_PROVIDER: "moz",
  AUTHORITY_MOZ_TOKEN: "a-token",
  AUTHORITY_MOZ_URL: `http://127.0.0.1:${vendorPort}`,
}
const runIn = (cwd: string, ...args: ReadonlyArray<string>) =>
  JSON.parse(
    execFileSync(program, [...programArgs, ...args, "--json"], {
      cwd,
      env,
      encoding: "utf8",
    }),
  )
const authority = (...args: ReadonlyArray<string>) => runIn(folder, ...args)
const keyOf = (account: string, credits: number, cwd = folder): string => {
  runIn(cwd, "account", "create", "--credits", String(credits), account)
  return runIn(cwd, "key", "create", "--account", account).key
}
const apiKey = keyOf("ordinary", 1_000_000_000)
const poorKey = keyOf("poor", 0)

const start = async (settings: Readonly<Record<string, string>> = {}, cwd = folder) => {
  const service = spawn(program, [...programArgs, "serve", "--json"], {
    cwd,
    env: { ...env, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const exited = once(service, "exit")
  const lines = createInterface(service.stdout)
  const [greeting] = await once(lines, "line", { signal: AbortSignal.timeout(60_000) })
  const { url }: { url: string } = JSON.parse(greeting)
  lines.close()
  service.stdout.resume()
  service.stderr.resume()
  const stop = async () => {
    service.kill("SIGTERM")
    const [code] = await Promise.race([exited, sleep(20_000, ["still running"], { ref: false })])
    service.kill("SIGKILL")
    assert.equal(code, 0, `the service ended with ${code} after SIGTERM`)
  }
  return { service, url, stop, port: Number(new URL(url).port), pid: service.pid ?? 0 }
}
const { pid, port, service, stop, url } = await start()

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

interface Answer {
  readonly status: number
  readonly body: string
}

const send = (
  body: string,
  headers: Readonly<Record<string, string>>,
  to: string = url,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const asking = request(to + batchPath, {
      agent,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
    })
    asking.on("error", reject)
    asking.on("response", (response) =>
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject),
    )
    asking.end(body)
  })

/** Waits until the service has destroyed a connection whose client never closes it. */
const destroyed = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.on("error", () => {})
    // Write repeatedly: on a half-closed connection, only a write detects that the server has
    // destroyed it.
    socket.on("end", () => {
      const probe = setInterval(() => socket.write("x"), 500)
      socket.on("close", () => clearInterval(probe))
    })
    socket.on("close", () => resolve())
  })

/**
 * Starts `clients` concurrent loops that run `act` until the time `until`. Returns the number of
 * runs.
 */
const repeat = async (clients: number, until: number, act: () => Promise<void>) => {
  let count = 0
  const client = async () => {
    for (; performance.now() < until; count++) await act()
  }
  await Promise.all(Array.from({ length: clients }, client))
  return count
}

/** Runs `act`. Returns its result, and the peak memory of a service meanwhile, in MB. */
const peakDuring = async <A>(pid: number, act: () => Promise<A>) => {
  let peakMb = 0
  const sampling = setInterval(() => (peakMb = Math.max(peakMb, rssMb(pid))), 100)
  try {
    const result = await act()
    return { result, peakMb }
  } finally {
    clearInterval(sampling)
  }
}

/** Does the same, and fails when the service takes too much memory. */
const boundingMemory = async <A>(pid: number, act: () => Promise<A>) => {
  const { peakMb, result } = await peakDuring(pid, act)
  assert(peakMb < maxRssMb, `the service had ${peakMb.toFixed(0)} MB`)
  return { result, peakMb: peakMb.toFixed(0) }
}

export interface Attack {
  readonly name: string
  /**
   * Runs the attack until `until`, in ms of `performance.now()`. Returns a short summary of the
   * attack.
   */
  readonly run: (until: number) => Promise<string>
}

const manyViolations: Attack = {
  name: "400 with 260,000 violations",
  run: async (until) => {
    const items = "1,".repeat(maxBodyBytes / 2 - 16)
    const count = await repeat(4, until, async () => {
      const { body, status } = await send(`{"urls":[${items}1]}`, { "x-api-key": apiKey })
      assert.equal(status, 400)
      assert(Buffer.byteLength(body) <= 64 * 1024, `a 400 has ${Buffer.byteLength(body)} bytes`)
    })
    return `${count} requests`
  },
}

const silentConnections: Attack = {
  name: "silent connections in every slot",
  run: async () => {
    const openedAt = performance.now()
    const sockets = Array.from({ length: maxConnections + 200 }, (_, i) => {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
      socket.resume()
      // Half of the connections start a request and never finish it.
      if (i % 2 === 0) socket.write("POST / HTTP/1.1\r\nHost: a\r\n")
      return destroyed(socket)
    })
    await Promise.race([Promise.all(sockets), sleep(22_000, undefined, { ref: false })])
    const seconds = (performance.now() - openedAt) / 1000
    // The silent connections are closed and use no slots any more, so a new client gets an answer.
    const { status } = await fetch(`${url}/health/live`, { signal: AbortSignal.timeout(5000) })
    assert.equal(status, 200)
    assert(seconds < 22, "silent connections are still open after 22 s")
    return `${sockets.length} connections, gone after ${seconds.toFixed(0)} s`
  },
}

/** Requests that the service answers before their body has arrived. */
const earlyAnswers = [
  { status: 401, head: `POST ${batchPath} HTTP/1.1\r\ncontent-type: application/json\r\n` },
  { status: 400, head: `POST ${batchPath} HTTP/1.1\r\nx-api-key: ${apiKey}\r\n` },
  { status: 404, head: `POST /nowhere HTTP/1.1\r\n` },
  { status: 405, head: `POST /health/live HTTP/1.1\r\n` },
  {
    status: 413,
    head: `POST ${batchPath} HTTP/1.1\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\n`,
  },
]

const endlessBodies: Attack = {
  name: "bodies without end after an early answer",
  run: async (until) => {
    let most = 0
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
    const count = await repeat(4, until, async () => {
      const early = earlyAnswers[Math.floor(Math.random() * earlyAnswers.length)]
      assert(early !== undefined)
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
      const end = destroyed(socket)
      let answer = ""
      socket.on("data", (data) => (answer += data.toString()))
      const write = () => {
        while (!socket.destroyed && socket.write(chunk));
      }
      socket.on("drain", write)
      socket.write(`${early.head}host: a\r\ntransfer-encoding: chunked\r\n\r\n`)
      write()
      await Promise.race([end, sleep(10_000, undefined, { ref: false })])
      const isOpen = !socket.destroyed
      socket.destroy()
      assert(!isOpen, `a connection is open 10 s after its ${early.status}`)
      most = Math.max(most, socket.bytesWritten)
      // Accept a missing answer: a client that continues to send may lose an answer that it has not
      // read yet.
      if (answer !== "") assert.equal(Number(answer.split(" ")[1]), early.status, answer)
    })
    return `${count} connections, at most ${(most / 1024 ** 2).toFixed(0)} MiB each`
  },
}

const freeWrites: Attack = {
  name: "free batches with an idempotency key",
  run: async (until) => {
    const size = () =>
      ["authority.db", "authority.db-wal"].reduce(
        (sum, file) => sum + statSync(join(folder, file)).size,
        0,
      )
    const before = size()
    const urls = Array.from({ length: 50 }, () => "localhost")
    const count = await repeat(8, until, async () => {
      const { body, status } = await send(JSON.stringify({ urls }), {
        "x-api-key": poorKey,
        "idempotency-key": randomUUID(),
      })
      assert.equal(status, 200, body)
    })
    // Allow some growth: each charge of the ordinary client takes about 300 bytes in the database.
    assert(size() - before < 8 * 1024 * 1024, `the database grew by ${size() - before} bytes`)
    return `${count} requests, the database grew by ${Math.round((size() - before) / 1024)} KiB`
  },
}

const deep = `{"id":${"[".repeat(200_000)}${"]".repeat(200_000)}}`

const deepAnswers: Attack = {
  name: "a vendor's answers nested 200,000 deep",
  run: async (until) => {
    const count = await whileVendor(
      (_urls, response) => response.end(deep),
      () =>
        repeat(4, until, async () => {
          const urls = Array.from({ length: 10 }, () => `${randomUUID()}.com`)
          const { body, status } = await send(JSON.stringify({ urls }), { "x-api-key": apiKey })
          assert.equal(status, 200, body)
          const { data } = decodeBatch(body)
          assert.deepEqual(
            data.failedUrls.map(({ reason }) => reason),
            urls.map(() => "PROVIDER_ERROR"),
          )
        }),
    )
    return `${count} requests`
  },
}

const logWithoutReader: Attack = {
  name: "a log without a reader",
  run: async (until) => {
    // A service of its own: at this level only, a service logs each request.
    const logging = await start({ AUTHORITY_LOG_LEVEL: "debug" })
    logging.service.stdout.destroy()
    logging.service.stderr.destroy()
    try {
      const { peakMb, result } = await boundingMemory(logging.pid, () =>
        repeat(8, until, async () => {
          const headers = { "x-api-key": apiKey }
          const { body, status } = await send(`{"urls":["localhost"]}`, headers, logging.url)
          assert.equal(status, 200, body)
        }),
      )
      return `${result} requests, the logging service had at most ${peakMb} MB`
    } finally {
      await logging.stop()
    }
  },
}

const decodeBalance = Schema.decodeUnknownSync(
  Schema.Struct({ held: Schema.Int, charged: Schema.Int }),
)

/** What the attacks of `neighbours.ts` need. */
const world = {
  url,
  port,
  boundingMemory,
  keyOf,
  send,
  repeat,
  whileVendor,
  start,
  balance: async (account: string) =>
    decodeBalance(authority("credits", "balance", "--account", account)),
}
export type World = typeof world

const calm: Attack = {
  name: "no attack",
  run: async (until) => {
    await sleep(until - performance.now())
    return ""
  },
}

const attacks = [
  calm,
  ...neighbours.attacks(world),
  manyViolations,
  silentConnections,
  endlessBodies,
  freeWrites,
  deepAnswers,
  logWithoutReader,
]

/** Starts a second service, with its own database. The attacks are not sent to it. */
const startElsewhere = async () => {
  const cwd = join(folder, "elsewhere")
  mkdirSync(cwd)
  return { apiKey: keyOf("ordinary", 1_000_000_000, cwd), ...(await start({}, cwd)) }
}
const elsewhere = values.elsewhere ? await startElsewhere() : undefined

// The ordinary client runs in its own thread, so that the attacks do not delay it.
const client = new Worker(join(import.meta.dirname, "ordinary-client.ts"), {
  workerData: { apiKey: elsewhere?.apiKey ?? apiKey, url: elsewhere?.url ?? url },
})
const ordinary = async (): Promise<Report> => {
  client.postMessage("report")
  const [report] = await once(client, "message")
  return report
}

const rows: Array<string> = []
const problems: Array<string> = []
try {
  for (const { name, run } of attacks) {
    if (name !== calm.name && !name.includes(values.only)) continue
    // Pause, so that the memory of the previous attack is not attributed to the next attack.
    await sleep(1000)
    await ordinary()
    console.error(`${name} …`)
    const failed = (why: string) => void problems.push(`${name}: ${why}`)
    const { peakMb, result } = await peakDuring(pid, () =>
      run(performance.now() + attackMs).catch((error: unknown) => {
        failed(String(error))
        return "FAILED"
      }),
    )
    const { count, others, p50Ms, p99Ms } = await ordinary()
    assert.equal(service.exitCode, null, `the service ended with ${service.exitCode}`)
    if (others.length > 0) failed(`the ordinary client got ${others.join(", ")}`)
    if (count === 0) failed("the ordinary client got no answer")
    if (peakMb >= maxRssMb) failed(`the service had ${peakMb.toFixed(0)} MB`)
    const cells = [name, result, count, p50Ms.toFixed(1), p99Ms.toFixed(1), peakMb.toFixed(0)]
    rows.push(`| ${cells.join(" | ")} |`)
  }
} finally {
  await client.terminate()
  agent.destroy()
  console.log(
    [
      "| attack | what it did | answers to an ordinary client | p50 ms | p99 ms | peak RSS, MB |",
      "| --- | --- | ---: | ---: | ---: | ---: |",
      ...rows,
    ].join("\n"),
  )
  await stop()
  await elsewhere?.stop()
  vendor.close()
  vendor.closeAllConnections()
  assert.equal(authority("credits", "verify").ok, true)
  rmSync(folder, { recursive: true })
}
assert.deepEqual(problems, [])
