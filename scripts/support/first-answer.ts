/** Measures how long a server takes from its start to its first answer. */
import assert from "node:assert/strict"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { get, type IncomingMessage } from "node:http"
import { setTimeout } from "node:timers/promises"
import { freePort } from "../free-port.ts"

interface Question {
  readonly path: string
  readonly apiKey: string
}

const answer = (port: number, { apiKey, path }: Question) =>
  new Promise<IncomingMessage | undefined>((resolve) => {
    const headers = { "x-api-key": apiKey }
    get({ port, path, host: "127.0.0.1", agent: false, headers }, (response) => {
      response.resume().on("end", () => resolve(response))
    }).on("error", () => resolve(undefined))
  })

/**
 * Starts a process and measures the milliseconds until its first answer. The process keeps running.
 * Fails when it ends early, or after 60 s.
 */
export const firstAnswer = async (start: (port: number) => ChildProcess, question: Question) => {
  const port = await freePort()
  const begin = performance.now()
  const child = start(port)
  try {
    // Retry until the server listens. An attempt costs almost nothing.
    let response = await answer(port, question)
    while (response === undefined) {
      assert(child.exitCode === null, "the server ended before it answered")
      assert(performance.now() - begin < 60_000, "the server does not answer")
      await setTimeout(1)
      response = await answer(port, question)
    }
    return { child, status: response.statusCode, elapsedMs: performance.now() - begin }
  } catch (error) {
    child.kill("SIGKILL")
    throw error
  }
}

/** Kills a process and waits for its end. */
export const kill = async (child: ChildProcess) => {
  child.kill("SIGKILL")
  await once(child, "close")
}
