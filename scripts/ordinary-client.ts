/**
 * A well-behaved client, which `hostile.ts` runs in a thread of its own, so that the attacks do not
 * delay it. Sends up to 50 requests per second. Answers a message with the outcomes since the last.
 */
import { parentPort, workerData } from "node:worker_threads"
import * as Traffic from "./traffic.ts"

const { apiKey, url }: { readonly apiKey: string; readonly url: string } = workerData

const start = () => {
  let isOver = false
  const outcomes = Traffic.run({
    urls: [url],
    apiKey,
    clients: 1,
    targets: () => ["ordinary.example.com"],
    pauseMs: 20,
    patienceMs: 0,
    goesOn: () => !isOver,
  })
  return () => {
    isOver = true
    return outcomes
  }
}

let stop = start()
parentPort?.on("message", async () => {
  const outcomes = await stop()
  stop = start()
  parentPort?.postMessage(outcomes)
})
