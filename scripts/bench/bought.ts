/**
 * Measures a bought request from end to end: its commits, Effect's steps for it, its speed beside the
 * peer, and what the queue adds at a fixed rate. Prints the lines of the room that buys, too. Needs a
 * build, wrk and a quiet machine.
 *
 *     npm run build && node scripts/bench/bought.ts [--seconds 5]
 */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { MixedScheduler } from "effect/Scheduler"
import * as Moz from "../../src/providers/Moz.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as Server from "../../src/server/public.ts"
import { linesOfRooms } from "../code-lines.ts"
import { load, writeRequests } from "./measure.ts"
import { batches, batchPath, boughtUrls } from "./requests.ts"
import * as Servers from "./servers.ts"

const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } })
const seconds = Number(values.seconds)

/** Effect asks its scheduler before each step whether the fiber should yield. */
class CountingScheduler extends MixedScheduler {
  steps = 0
  override shouldYield(...args: Parameters<MixedScheduler["shouldYield"]>) {
    this.steps += 1
    return super.shouldYield(...args)
  }
}

const folder = Servers.newFolder()
const file = join(folder, "requests")
writeRequests(file, batches(boughtUrls, { count: 50, isNamed: true }))
const vendor = await Servers.start("the vendor", folder, [Servers.script("vendor.ts")])
const scheduler = new CountingScheduler(2048)

const inThisProcess = Effect.gen(function* () {
  const layer = Server.layer({
    vendor: Moz.layer({ url: vendor.url, token: Redacted.make("token") }),
    settings: {
      AUTHORITY_PORT: "0",
      AUTHORITY_LOG_LEVEL: "error",
      AUTHORITY_CACHE_TTL: "0s",
      AUTHORITY_DATABASE_URL: `sqlite:${join(folder, "steps.db")}`,
    },
  })
  const context = yield* Layer.build(layer)
  const key = Redacted.value(
    yield* Effect.provide(Server.newKey({ account: "acme", credits: Credits.make(1e9) }), context),
  )
  const { url } = Context.get(context, Server.Service)
  const commits = Effect.promise(async () => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return Number(/authority_ledger_commit_commands_count(?:\{[^}]*\})? (\d+)/.exec(text)?.[1] ?? 0)
  })
  const before = yield* commits
  const alone = 20
  for (let i = 0; i < alone; i++) {
    const answer = yield* Effect.promise(() =>
      fetch(url + batchPath, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: JSON.stringify({ urls: [`alone-${i}.com`] }),
      }),
    )
    assert.equal(answer.status, 200)
  }
  console.log(`commits that a bought request waits for: ${((yield* commits) - before) / alone}`)
  const stop = () => Promise.resolve()
  const server = { name: "the service", pid: process.pid, url, keys: [key], stop }
  yield* Effect.promise(() => load(server, { file, seconds: 2 }))
  const stepsBefore = scheduler.steps
  const { requests } = yield* Effect.promise(() => load(server, { file, seconds }))
  const steps = (scheduler.steps - stepsBefore) / requests
  console.log(`Effect's steps for a bought request of 50 URLs: ${steps.toFixed(0)}`)
}).pipe(Effect.scoped)

try {
  const room = linesOfRooms(join(import.meta.dirname, "../../src"))["providers"]
  console.log(`lines of code in src/providers: ${room}`)
  await Effect.runPromise(Effect.withScheduler(inThisProcess, scheduler))
} finally {
  await Servers.stopAll()
}
const run = (name: string, ...args: ReadonlyArray<string>) =>
  execFileSync(process.execPath, [Servers.script(name), ...args], { stdio: "inherit" })
run("run.ts", "--rows", "^bought, named", "--seconds", values.seconds, "--rss-seconds", "0")
run("fixed-rate.ts", "--seconds", "20")
