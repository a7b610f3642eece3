/**
 * Starts the service and attacks it for some seconds per attack. Prints the latency that an
 * ordinary client sees meanwhile. Fails when the service ends, an answer has the wrong status, the
 * memory exceeds a limit, or a request of the ordinary client is not charged exactly once. Needs
 * Linux.
 *
 *     npm run hostile -- [--seconds 10] [--quick] [--only PART-OF-A-NAME] [PROGRAM [ARGUMENT]…]
 *
 * With `--quick`, runs eight of the attacks. The default program is `node dist/authority.cjs`, with
 * the heap flags of `npm start`. One process bears all attacks but two, which start a service with
 * other settings. Most of the memory of one attack stays with the process until the next.
 */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync, statSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect, type Socket } from "node:net"
import { join, resolve } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Worker } from "node:worker_threads"
import * as Schema from "effect/Schema"
import { maxBodyBytes } from "../src/contract/Limits.ts"
import { batchPath } from "../src/contract/Wire.ts"
import { rssMb } from "./bench/measure.ts"
import { heapFlags } from "./heap-flags.ts"
import * as neighbours from "./neighbours.ts"
import { programOn } from "./program.ts"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as FakeVendor from "./support/FakeVendor.ts"
import { decodeBatch } from "./support/postBatch.ts"
import { quantile } from "./support/quantile.ts"
import { withVendor } from "./support/withVendor.ts"
import * as Traffic from "./traffic.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "10" },
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
})
const attackMs = Number(values.seconds) * 1000
const command =
  positionals.length === 0
    ? [process.execPath, ...heapFlags, join(import.meta.dirname, "../dist/authority.cjs")]
    : positionals.map((word) => (existsSync(word) ? resolve(word) : word))

const maxRssMb = 400
const maxConnections = 1000

export interface Attack {
  readonly name: string
  /** True when `--quick` leaves the attack out. */
  readonly isLong?: boolean
  /** Attacks until `until`, in ms of `performance.now()`. Returns a short summary of the attack. */
  readonly run: (until: number) => Promise<string>
}

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

const decodeBalance = Schema.decodeUnknownSync(
  Schema.Struct({ held: Schema.Int, charged: Schema.Int }),
)

/** Starts the service, and returns what the attacks need. */
const startWorld = async (
  vendor: Parameters<Parameters<typeof withVendor>[1]>[0],
  folder: string,
) => {
  const program = programOn({
    cwd: folder,
    command,
    isQuiet: true,
    settings: {
      AUTHORITY_LOG_LEVEL: "info",
      AUTHORITY_MAX_CONNECTIONS: String(maxConnections),
      ...FakeMoz.settings(vendor.url),
    },
  })
  const start = async (settings: Readonly<Record<string, string>> = {}) => {
    const { child, kill, url } = await program.serve(settings)
    child.stdout.resume()
    const stop = async () => {
      const code = await Promise.race([kill("SIGTERM"), sleep(20_000, -1, { ref: false })])
      child.kill("SIGKILL")
      assert.equal(code, 0, `the service ended with ${code} after SIGTERM`)
    }
    return { child, url, stop, port: Number(new URL(url).port), pid: child.pid ?? 0 }
  }
  const apiKey = await program.newKey("ordinary", 1_000_000_000)
  const poorKey = await program.newKey("poor", 0)
  const service = await start()
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const send = (body: string, headers: Readonly<Record<string, string>>, to = service.url) =>
    new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
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
  return {
    ...service,
    folder,
    program,
    apiKey,
    poorKey,
    start,
    send,
    repeat,
    boundingMemory,
    closeAgent: () => agent.destroy(),
    keyOf: program.newKey,
    /** Runs `act` while the vendor has this fault. */
    whileVendor: async <A>(fault: FakeVendor.Fault, act: () => Promise<A>) => {
      vendor.always(fault)
      try {
        return await act()
      } finally {
        vendor.always(undefined)
      }
    },
    balance: async (account: string) =>
      decodeBalance(await program.verb("credits", "balance", "--account", account)),
  }
}
export type World = Awaited<ReturnType<typeof startWorld>>

const manyViolations = ({ apiKey, send }: World): Attack => ({
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
})

const silentConnections = ({ port, url }: World): Attack => ({
  name: "silent connections in every slot",
  isLong: true,
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
})

/** Requests that the service answers before their body has arrived. */
const earlyAnswers = (apiKey: string) => [
  { status: 401, head: `POST ${batchPath} HTTP/1.1\r\ncontent-type: application/json\r\n` },
  { status: 400, head: `POST ${batchPath} HTTP/1.1\r\nx-api-key: ${apiKey}\r\n` },
  { status: 404, head: `POST /nowhere HTTP/1.1\r\n` },
  { status: 405, head: `POST /health/live HTTP/1.1\r\n` },
  {
    status: 413,
    head: `POST ${batchPath} HTTP/1.1\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\n`,
  },
]

const endlessBodies = ({ apiKey, port }: World): Attack => ({
  name: "bodies without end after an early answer",
  run: async (until) => {
    let most = 0
    const answers = earlyAnswers(apiKey)
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
    const count = await repeat(4, until, async () => {
      const early = answers[Math.floor(Math.random() * answers.length)]
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
})

const freeWrites = ({ folder, poorKey, send }: World): Attack => ({
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
})

const deep = `{"id":${"[".repeat(200_000)}${"]".repeat(200_000)}}`

const deepAnswers = ({ apiKey, send, whileVendor }: World): Attack => ({
  name: "a vendor's answers nested 200,000 deep",
  run: async (until) => {
    const count = await whileVendor(FakeVendor.answer(200, deep), () =>
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
})

const logWithoutReader = ({ apiKey, send, start }: World): Attack => ({
  name: "a log without a reader",
  run: async (until) => {
    // A service of its own: at this level only, a service logs each request.
    const logging = await start({ AUTHORITY_LOG_LEVEL: "debug" })
    logging.child.stdout.destroy()
    logging.child.stderr.destroy()
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
})

const calm: Attack = {
  name: "no attack",
  run: async (until) => {
    await sleep(until - performance.now())
    return ""
  },
}

await withVendor("hostile", async (vendor, folder) => {
  const world = await startWorld(vendor, folder)
  const { apiKey, child, pid, program, stop, url } = world
  const attacks = [
    ...(await neighbours.attacks(world)),
    manyViolations(world),
    silentConnections(world),
    endlessBodies(world),
    freeWrites(world),
    logWithoutReader(world),
    // The last that needs the vendor, because it opens the circuit breaker.
    deepAnswers(world),
  ].filter(({ isLong = false, name }) => name.includes(values.only) && !(values.quick && isLong))

  const client = new Worker(join(import.meta.dirname, "ordinary-client.ts"), {
    workerData: { apiKey, url },
  })
  const all: Array<Traffic.Outcome> = []
  /** The outcomes of the ordinary client's requests since the last call. */
  const ordinary = async (): Promise<ReadonlyArray<Traffic.Outcome>> => {
    client.postMessage("report")
    const [outcomes] = await once(client, "message")
    all.push(...outcomes)
    return outcomes
  }

  const rows: Array<string> = []
  const problems: Array<string> = []
  try {
    for (const { name, run } of [calm, ...attacks]) {
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
      const outcomes = await ordinary()
      assert.equal(child.exitCode, null, `the service ended with ${child.exitCode}`)
      const others = outcomes.filter(({ creditsUsed }) => creditsUsed === undefined)
      if (others.length > 0) failed(`the ordinary client got ${others[0]?.said}`)
      if (outcomes.length === 0) failed("the ordinary client got no answer")
      if (peakMb >= maxRssMb) failed(`the service had ${peakMb.toFixed(0)} MB`)
      const times = outcomes.map(({ answeredAt, sentAt }) => answeredAt - sentAt)
      const [p50, p99] = [quantile(times, 0.5).toFixed(1), quantile(times, 0.99).toFixed(1)]
      rows.push(`| ${[name, result, times.length, p50, p99, peakMb.toFixed(0)].join(" | ")} |`)
    }
    await ordinary()
    await client.terminate()
    await stop()
    const { doubled, lost } = Traffic.tally(all, await program.charges("ordinary"))
    assert.deepEqual({ doubled, lost }, { doubled: 0, lost: 0 })
  } finally {
    await client.terminate()
    world.closeAgent()
    child.kill("SIGKILL")
    console.log(
      [
        "| attack | what it did | answers to an ordinary client | p50 ms | p99 ms | peak RSS, MB |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        ...rows,
      ].join("\n"),
    )
  }
  assert.deepEqual(problems, [])
})
