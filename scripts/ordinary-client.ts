/**
 * A well-behaved client, which `hostile.ts` runs in a worker thread to measure the service's
 * latency during the attacks. The client sends up to 50 requests per second on one keep-alive
 * connection.
 */
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { parentPort, workerData } from "node:worker_threads"
import { batchPath } from "../src/contract/Wire.ts"
import { quantile } from "./support/quantile.ts"

/** The client's measurements since its last report. */
export interface Report {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** The statuses other than 200, and the errors of failed requests. */
  readonly others: ReadonlyArray<string>
}

const { apiKey, url }: { readonly apiKey: string; readonly url: string } = workerData
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let times: Array<number> = []
let others: Array<string> = []

const ask = () =>
  new Promise<void>((resolve) => {
    const startedAt = performance.now()
    const asking = request(url + batchPath, {
      agent,
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": apiKey },
    })
    asking.on("error", (error) => {
      others.push(error.message)
      resolve()
    })
    asking.on("response", (response) => {
      response.resume().on("end", () => {
        times.push(performance.now() - startedAt)
        if (response.statusCode !== 200) others.push(String(response.statusCode))
        resolve()
      })
    })
    asking.end(JSON.stringify({ urls: ["ordinary.com"] }))
  })

parentPort?.on("message", () => {
  const [p50Ms, p99Ms] = [quantile(times, 0.5), quantile(times, 0.99)]
  const report: Report = { count: times.length, p50Ms, p99Ms, others }
  times = []
  others = []
  parentPort?.postMessage(report)
})

for (;;) {
  await ask()
  await sleep(20)
}
