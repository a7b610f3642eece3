/**
 * A fake vendor over real HTTP on a free port. Its answers are correct, unless a test scripts a
 * fault. Each scripted fault changes the answer to one call.
 */
import * as Http from "node:http"
import * as Effect from "effect/Effect"
import type { ProviderError } from "../../src/providers/MetricsProvider.ts"
import { listen } from "./listen.ts"

/** One received call. */
export interface Call {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Http.IncomingHttpHeaders
  /** The body, parsed as JSON; undefined when it is empty. */
  readonly json: unknown
}

interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

/** Replaces the fake's answer to a call. `reply` is the correct answer. */
export interface Fault {
  readonly name: string
  readonly apply: (response: Http.ServerResponse, reply: Reply, call: Call) => void
}

interface FakeVendor {
  /** The URL of the fake, without a path. */
  readonly address: string
  /** All calls so far, including those with a fault. */
  readonly calls: ReadonlyArray<Call>
  /** Applies the faults to the next calls: one fault to each call, in the given order. */
  readonly script: (...faults: ReadonlyArray<Fault>) => void
  /**
   * Applies the fault to all calls without a scripted fault. Pass undefined to remove the fault.
   */
  readonly always: (fault: Fault | undefined) => void
  /** Returns how many calls with the fault `hang` are still open. */
  readonly hanging: () => number
}

/**
 * Starts a fake vendor. Closing the scope stops it and closes its connections. A call for which
 * `aside` returns a fault gets that fault, and is not recorded.
 */
export const make = (
  answer: (call: Call) => Reply,
  aside: (call: Call) => Fault | undefined = () => undefined,
) =>
  Effect.gen(function* () {
    const calls: Array<Call> = []
    const faults: Array<Fault> = []
    let standing: Fault | undefined
    const hanging = new Set<Http.ServerResponse>()

    const server = Http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString()
        const call: Call = {
          method: request.method ?? "",
          url: request.url ?? "",
          headers: request.headers,
          json: text === "" ? undefined : JSON.parse(text),
        }
        const ownFault = aside(call)
        if (ownFault !== undefined) return ownFault.apply(response, answer(call), call)
        calls.push(call)
        const fault = faults.shift() ?? standing ?? none
        if (fault === hang) hanging.add(response)
        fault.apply(response, answer(call), call)
      })
    })
    const vendor: FakeVendor = {
      address: yield* listen(server),
      calls,
      script: (...more) => void faults.push(...more),
      always: (fault) => void (standing = fault),
      hanging: () => [...hanging].filter(({ destroyed }) => !destroyed).length,
    }
    return vendor
  })

const send = (response: Http.ServerResponse, { body, headers, status }: Reply) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(body)
}

/** Gives the correct answer. */
export const none: Fault = { name: "none", apply: send }

/** Never answers. */
export const hang: Fault = { name: "no answer", apply: () => {} }

/** A fault that delays correct answers until `release` is called. */
export const held = () => {
  const waiting: Array<() => void> = []
  const fault: Fault = {
    name: "delayed answer",
    apply: (response, reply) => void waiting.push(() => send(response, reply)),
  }
  return { fault, waiting, release: () => waiting.splice(0).forEach((answer) => answer()) }
}

/** Gives the correct answer after a delay in real time. */
export const delay = (ms: number): Fault => ({
  name: `answer after ${ms} ms`,
  apply: (response, reply) => void setTimeout(() => send(response, reply), ms),
})

/** Breaks the connection before the answer. */
export const reset: Fault = {
  name: "connection reset",
  apply: (response) => void response.socket?.resetAndDestroy(),
}

/** Breaks the connection in the middle of the answer. */
export const cut: Fault = {
  name: "connection cut",
  apply: (response, { body, status }) => {
    response.writeHead(status, { "content-length": Buffer.byteLength(body) })
    response.write(body.slice(0, body.length / 2), () => response.socket?.destroy())
  },
}

/** Sends a Content-Length that is too short. */
const shortLength: Fault = {
  name: "Content-Length too short",
  apply: (response, { body, status }) => {
    const head = `HTTP/1.1 ${status} OK\r\nconnection: close\r\ncontent-length: ${Math.floor(body.length / 2)}\r\n\r\n`
    response.socket?.end(head + body)
  },
}

/** Sends a Content-Length that is too long. */
const longLength: Fault = {
  name: "Content-Length too long",
  apply: (response, { body, status }) => {
    const head = `HTTP/1.1 ${status} OK\r\nconnection: close\r\ncontent-length: ${body.length + 100}\r\n\r\n`
    response.socket?.end(head + body)
  },
}

/** Sends the given answer instead of the correct answer. */
export const answer = (
  status: number,
  body: string,
  headers: Record<string, string> = {},
): Fault => ({
  name: `HTTP ${status} with the body "${body.slice(0, 20)}"`,
  apply: (response) => send(response, { status, body, headers }),
})

/** Changes the JSON of the correct answer. */
export const rewrite = (name: string, change: (json: unknown) => unknown): Fault => ({
  name,
  apply: (response, reply) =>
    send(response, { ...reply, body: JSON.stringify(change(JSON.parse(reply.body))) }),
})

export const throttled = (retryAfter: string): Fault => ({
  ...answer(429, `{"message":"slow down"}`, { "retry-after": retryAfter }),
  name: "HTTP 429",
})

export const unavailable: Fault = { ...answer(500, "Internal Server Error"), name: "HTTP 500" }

const html: Fault = {
  ...answer(200, "<!doctype html><title>Maintenance</title>", { "content-type": "text/html" }),
  name: "HTML page",
}

const garbage: Fault = { ...answer(200, '\u0000\ufffd{"resu'), name: "malformed JSON" }

export const nothing: Fault = { ...answer(200, ""), name: "empty body" }

const tooLarge: Fault = {
  name: "body of 3 MiB",
  apply: (response) =>
    send(response, { status: 200, body: `{"filler":"${"x".repeat(3 * 1024 * 1024)}"}` }),
}

/** The faults that every vendor can have, each with the reason that its provider must report. */
export const failures: ReadonlyArray<readonly [reason: ProviderError["reason"], Fault]> = [
  ["Unreachable", reset],
  ["Unreachable", cut],
  ["Unreachable", longLength],
  ["Malformed", shortLength],
  ["Malformed", html],
  ["Malformed", garbage],
  ["Malformed", nothing],
  ["Malformed", tooLarge],
  ["Malformed", answer(200, "[]")],
  ["Malformed", answer(200, "null")],
  ["Malformed", answer(204, "")],
  ["Unavailable", unavailable],
  ["Unavailable", answer(503, "<h1>Bad gateway</h1>")],
  ["Throttled", throttled("7")],
  ["Timeout", answer(408, "")],
  ["Refused", answer(403, "no")],
  ["Refused", answer(302, "", { location: "https://example.com/" })],
]
