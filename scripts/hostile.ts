/**
 * Starts the service and attacks it for some seconds per attack, while an ordinary client checks
 * URLs. Fails when the service ends, an answer has the wrong status, the memory exceeds a limit, or
 * a request of the ordinary client is not answered and charged exactly once. Needs Linux.
 *
 *     npm run hostile -- [--seconds 10] [--quick] [--only PART-OF-A-NAME] [PROGRAM [ARGUMENT]…]
 *
 * With `--quick`, leaves out the attack that takes 22 seconds. The default program is
 * `node dist/authority.cjs`, with the heap flags of `npm start`. One process bears all attacks but
 * one, which starts a service with other settings. Most of the memory of one attack stays with the
 * process until the next.
 */
import assert from "node:assert/strict"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { maxBodyBytes } from "../src/contract/Limits.ts"
import { batchPath } from "../src/contract/Wire.ts"
import { rssMb } from "./bench/measure.ts"
import { heapFlags } from "./heap-flags.ts"
import { programOn } from "./program.ts"
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

interface Attack {
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

const folder = mkdtempSync(join(tmpdir(), "authority-hostile-"))
const program = programOn({
  cwd: folder,
  command,
  isQuiet: true,
  settings: {
    AUTHORITY_LOG_LEVEL: "info",
    AUTHORITY_MAX_CONNECTIONS: String(maxConnections),
    AUTHORITY_PROVIDER: "sandbox",
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
  return { child, url, stop, pid: child.pid ?? 0 }
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

const send = (url: string, apiKey: string, body: string) =>
  new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
    const headers = { "content-type": "application/json", "x-api-key": apiKey }
    const asking = request(url + batchPath, { agent, method: "POST", headers })
    asking.on("error", reject)
    asking.on("response", (response) =>
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject),
    )
    asking.end(body)
  })

interface World {
  readonly url: string
  readonly port: number
  readonly apiKey: string
}

const manyViolations = ({ apiKey, url }: World): Attack => ({
  name: "400 with 260,000 violations",
  run: async (until) => {
    const items = "1,".repeat(maxBodyBytes / 2 - 16)
    const count = await repeat(4, until, async () => {
      const { body, status } = await send(url, apiKey, `{"urls":[${items}1]}`)
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

const stalledBodies = ({ apiKey, port }: World): Attack => ({
  name: "600 bodies of one account that stall",
  run: async (until) => {
    const head = `POST ${batchPath} HTTP/1.1\r\nhost: a\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${maxBodyBytes}\r\n\r\n`
    const sockets = Array.from({ length: 600 }, () => {
      const socket = connect({ port, host: "127.0.0.1" })
      socket.on("error", () => {}).resume()
      socket.write(head + " ".repeat(maxBodyBytes - 1024))
      return socket
    })
    await sleep(until - performance.now())
    const open = sockets.filter(({ destroyed }) => !destroyed).length
    sockets.forEach((socket) => socket.destroy())
    return `${open} connections still open at the end`
  },
})

const logWithoutReader = ({ apiKey }: World): Attack => ({
  name: "a log without a reader",
  run: async () => {
    // Start a separate service, because only this log level logs every request.
    const logging = await start({ AUTHORITY_LOG_LEVEL: "debug" })
    const until = performance.now() + attackMs
    logging.child.stdout.destroy()
    logging.child.stderr.destroy()
    try {
      const { peakMb, result } = await peakDuring(logging.pid, () =>
        repeat(8, until, async () => {
          const { body, status } = await send(logging.url, apiKey, `{"urls":["localhost"]}`)
          assert.equal(status, 200, body)
        }),
      )
      assert(peakMb < maxRssMb, `the service had ${peakMb.toFixed(0)} MB`)
      return `${result} requests, the logging service had at most ${peakMb.toFixed(0)} MB`
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

const rows: Array<string> = []
const problems: Array<string> = []
try {
  const ordinaryKey = await program.newKey("ordinary", 1_000_000_000)
  const apiKey = await program.newKey("attacker", 1000)
  const { child, pid, stop, url } = await start()
  const world = { url, apiKey, port: Number(new URL(url).port) }
  const attacks = [
    manyViolations,
    silentConnections,
    endlessBodies,
    stalledBodies,
    logWithoutReader,
  ]
  const all: Array<Traffic.Outcome> = []
  try {
    for (const { isLong = false, name, run } of [calm, ...attacks.map((attack) => attack(world))]) {
      if (!name.includes(values.only) || (values.quick && isLong)) continue
      // Pause, so that the memory of the previous attack is not attributed to the next attack.
      await sleep(1000)
      console.error(`${name} …`)
      const failed = (why: string) => void problems.push(`${name}: ${why}`)
      let isOver = false
      const options = { urls: [url], apiKey: ordinaryKey, clients: 1, pauseMs: 20, patienceMs: 0 }
      const traffic = Traffic.run({ ...options, goesOn: () => !isOver })
      const { peakMb, result } = await peakDuring(pid, () =>
        run(performance.now() + attackMs).catch((error: unknown) => {
          failed(String(error))
          return "FAILED"
        }),
      )
      isOver = true
      const outcomes = await traffic
      all.push(...outcomes)
      assert.equal(child.exitCode, null, `the service ended with ${child.exitCode}`)
      const unanswered = outcomes.find(({ creditsUsed }) => creditsUsed === undefined)
      if (unanswered !== undefined) failed(`the ordinary client got ${unanswered.said}`)
      if (peakMb >= maxRssMb) failed(`the service had ${peakMb.toFixed(0)} MB`)
      rows.push(`| ${[name, result, outcomes.length, peakMb.toFixed(0)].join(" | ")} |`)
    }
    await stop()
    const { doubled, lost } = Traffic.tally(all, await program.charges("ordinary"))
    assert.deepEqual({ doubled, lost }, { doubled: 0, lost: 0 })
  } finally {
    child.kill("SIGKILL")
  }
} finally {
  agent.destroy()
  rmSync(folder, { recursive: true, force: true })
  console.log(
    [
      "| attack | what it did | answers to an ordinary client | peak RSS, MB |",
      "| --- | --- | ---: | ---: |",
      ...rows,
    ].join("\n"),
  )
}
assert.deepEqual(problems, [])
