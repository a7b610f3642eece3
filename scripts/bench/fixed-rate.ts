/**
 * Measures cold figures at a fixed rate: 300 requests/s with 10 URLs each, whose hosts are drawn from
 * a Zipf distribution. The fake vendor is a separate process that takes 120 ms per call. The service
 * starts with an empty cache; the peer in `peer.ts` has no cache. The time of a request counts from
 * the moment at which it is due. Needs a build and a quiet machine.
 *
 *     node scripts/bench/fixed-rate.ts [--seconds N] [--rate N] [--ms N]
 *
 *     --seconds N      seconds of load on each server (default: 20)
 *     --rate N         requests per second (default: 300)
 *     --ms N           milliseconds that the vendor takes (default: 120)
 */
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { cpuSeconds } from "./measure.ts"
import { batchPath } from "./requests.ts"
import {
  built,
  counted,
  mozSettings,
  newFolder,
  script,
  type Server,
  start,
  startService,
  stopAll,
  subfolder,
} from "./servers.ts"
import { quantile } from "../support/quantile.ts"
import { zipf } from "../support/zipf.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    rate: { type: "string", default: "300" },
    ms: { type: "string", default: "120" },
  },
})
const [seconds, rate, ms] = [Number(values.seconds), Number(values.rate), Number(values.ms)]
const urlsPerRequest = 10
const hosts = 1_000_000

interface Answered {
  /** How long the request took, in milliseconds. */
  readonly took: number
  readonly failedUrls: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 300 })

/** Sends a request with the key of one account. Fails on any status but 200. */
const ask = ({ keys, url }: Server, i: number, urls: ReadonlyArray<string>, dueAt: number) =>
  new Promise<Answered>((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "x-api-key": keys[i % keys.length],
    }
    const asking = request(url + batchPath, { agent, method: "POST", headers })
    asking.on("error", reject)
    asking.on("response", (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => (text += part))
      response.on("end", () => {
        if (response.statusCode !== 200) return reject(new Error(text))
        const took = performance.now() - dueAt
        return resolve({ took, failedUrls: JSON.parse(text).data.failedUrls.length })
      })
    })
    asking.end(JSON.stringify({ urls }))
  })

const load = async (server: Server) => {
  const draw = zipf(hosts)
  const startedAt = performance.now() + 100
  const answers: Array<Promise<Answered>> = []
  for (let i = 0; i < seconds * rate; i++) {
    const dueAt = startedAt + (i * 1000) / rate
    const urls = Array.from({ length: urlsPerRequest }, () => `host-${draw()}.com`)
    const wait = dueAt - performance.now()
    if (wait > 0) await sleep(wait)
    answers.push(ask(server, i, urls, dueAt))
  }
  return Promise.all(answers)
}

/** Measures one server, which gets its own fake vendor, and returns a row of the table. */
const measure = async (
  name: string,
  startServer: (cwd: string, vendor: Server) => Promise<Server>,
) => {
  const cwd = subfolder(folder, name.replaceAll(" ", "-"))
  const vendor = await start("the vendor", cwd, script("vendor.ts", `${ms}`))
  const server = await startServer(cwd, vendor)
  const cpuBefore = cpuSeconds(server.pid)
  const answers = await load(server)
  const cpu = cpuSeconds(server.pid) - cpuBefore
  const overVendor = (some: ReadonlyArray<Answered>, share: number) => {
    const value = quantile(
      some.map(({ took }) => took),
      share,
    )
    return `${value.toFixed(0)} ms, ${(value / ms).toFixed(2)} ×`
  }
  const failed = answers.reduce((sum, { failedUrls }) => sum + failedUrls, 0)
  const count = (what: "asked" | "calls" | "hosts") => counted(vendor, what)
  const calls = await count("calls")
  const cells = [
    name,
    overVendor(answers, 0.5),
    overVendor(answers, 0.99),
    overVendor(answers.slice(rate), 0.99),
    ((await count("asked")) / (await count("hosts"))).toFixed(2),
    calls,
    `${((100 * failed) / (answers.length * urlsPerRequest)).toFixed(1)} %`,
    `${((1000 * cpu) / answers.length).toFixed(2)} ms`,
  ]
  await stopAll()
  console.log(`| ${cells.join(" | ")} |`)
}

const folder = newFolder()
console.log(
  `${rate} requests/s with ${urlsPerRequest} URLs each for ${seconds} s, a vendor that takes ${ms} ms\n`,
)
const columns =
  "server | p50 | p99 | p99 after 1 s | rows per host | calls | failed URLs | CPU per request"
console.log(`| ${columns} |`)
console.log(`|---|${"--:|".repeat(7)}`)
try {
  await measure("service", (cwd, vendor) => {
    const settings = mozSettings(vendor)
    return startService({ name: "the service", cwd, program: built, settings })
  })
  await measure("peer", (cwd, vendor) =>
    start("the peer", cwd, script("peer.ts", "bought", vendor.url)),
  )
} finally {
  await stopAll()
}
