/**
 * Attacks of `hostile.ts` by one account, whose cost other accounts or the operator would bear. Keys
 * are made before the attacks, because the programs that make them take processor time.
 */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { connect, createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { maxBodyBytes, maxUrlLength, maxUrls } from "../src/contract/Limits.ts"
import { batchPath } from "../src/contract/Wire.ts"
import { listenOnFreePort } from "./free-port.ts"
import type { Attack, World } from "./hostile.ts"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as FakeVendor from "./support/FakeVendor.ts"
import { decodeBatch } from "./support/postBatch.ts"

const hosts = (name: string, count: number = maxUrls) =>
  Array.from({ length: count }, () => `${name}-${randomUUID()}.com`)

/** Sends a request and hangs up after some milliseconds. Resolves when the connection is closed. */
const abandon = (url: string, apiKey: string, urls: ReadonlyArray<string>, afterMs: number) =>
  new Promise<void>((resolve) => {
    const asking = request(url + batchPath, {
      agent: false,
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": apiKey },
    })
    asking.on("response", (response) => response.resume())
    asking.on("error", () => {})
    asking.on("close", () => resolve())
    asking.end(JSON.stringify({ urls }))
    setTimeout(() => asking.destroy(), afterMs)
  })

/** The vendor's rows are counted while requests end that nobody waits for. */
const hangUps = (world: World, apiKey: string): Attack => ({
  name: "clients that hang up after a whole request",
  isLong: true,
  run: async (until) => {
    let rows = 0
    const slow: FakeVendor.Fault = {
      name: "slow",
      apply: (response, reply, call) => {
        rows += JSON.stringify(call.json).split("left-").length - 1
        FakeVendor.delay(200).apply(response, reply, call)
      },
    }
    return world.whileVendor(slow, async () => {
      const count = await world.repeat(4, until, () =>
        abandon(world.url, apiKey, hosts("left"), 60),
      )
      const ended = performance.now() + 40_000
      let balance = await world.balance("leaver")
      while (balance.held > 0 && performance.now() < ended) {
        await sleep(500)
        balance = await world.balance("leaver")
      }
      assert(rows > 0, "the vendor was not asked")
      assert.deepEqual(balance, { held: 0, charged: rows }, `the vendor sold ${rows} rows`)
      return `${count} requests, ${rows} rows bought, ${balance.charged} credits charged`
    })
  },
})

const noQuota = FakeVendor.answer(404, "{}")

const failing = (status: number) =>
  FakeMoz.rpcFailure(status, { code: -32_600, status, message: "It did not work." })

/** A vendor that fails each call with a poisoned URL must not fail the URLs of other accounts. */
const poison = (
  world: World,
  name: string,
  failure: FakeVendor.Fault,
  attacker: string,
  neighbour: string,
): Attack => ({
  name: `targets for which the vendor ${name}`,
  run: async (until) => {
    let poisoned = 0
    const fault: FakeVendor.Fault = {
      name: "poisoned",
      apply: (...call) => {
        const asked = JSON.stringify(call[2].json)
        // The attacks before have bought more rows than the fake's quota has.
        if (asked.includes("quota.lookup")) return noQuota.apply(...call)
        if (!asked.includes("//poison-")) return FakeVendor.delay(20).apply(...call)
        poisoned++
        failure.apply(...call)
      },
    }
    return world.whileVendor(fault, async () => {
      let [asked, served] = [0, 0]
      const attack = world.repeat(8, until, () =>
        abandon(world.url, attacker, hosts("poison"), 1000),
      )
      await world.repeat(4, until, async () => {
        const { body, status } = await world.send(JSON.stringify({ urls: hosts("good", 2) }), {
          "x-api-key": neighbour,
        })
        assert.equal(status, 200, body)
        asked += 2
        served += decodeBatch(body).data.successUrls.length
        await sleep(50)
      })
      const count = await attack
      assert(poisoned > 0, "the vendor failed no call")
      const share = (served / asked) * 100
      assert(share >= 95, `${served} of ${asked} targets of another account were served`)
      return `${count} requests, ${poisoned} failed calls; ${share.toFixed(1)} % of ${asked} targets of another account served`
    })
  },
})

const silentCollector = (world: World): Attack => ({
  name: "14 kB headers while the OTLP collector is silent",
  run: async (until) => {
    const collector = createServer((socket) => void socket.on("error", () => {}).resume())
    const port = await listenOnFreePort(collector)
    const traced = await world.start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
    const agent = new Agent({ keepAlive: true })
    try {
      const { peakMb, result } = await world.boundingMemory(traced.pid, () =>
        world.repeat(16, until, async () => {
          const asking = request(traced.url + batchPath, {
            agent,
            method: "POST",
            headers: { "x-filler": "x".repeat(14_000) },
          }).end("{}")
          const [response] = await once(asking, "response")
          await once(response.resume(), "end")
          assert.equal(response.statusCode, 401)
        }),
      )
      return `${result} requests, the traced service had at most ${peakMb} MB`
    } finally {
      agent.destroy()
      await traced.stop()
      collector.close()
    }
  },
})

const stalledBodies = (world: World, apiKey: string): Attack => ({
  name: "600 bodies of one account that stall",
  run: async (until) => {
    const head = `POST ${batchPath} HTTP/1.1\r\nhost: a\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${maxBodyBytes}\r\n\r\n`
    const sockets = Array.from({ length: 600 }, () => {
      const socket = connect({ port: world.port, host: "127.0.0.1" })
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

const longPages = (world: World, apiKey: string): Attack => ({
  name: "pages of 1,000 characters in the cache",
  run: async (until) => {
    let pages = 0
    await world.repeat(4, until, async () => {
      if (pages >= 25_000) return sleep(100)
      const urls = hosts("long").map((host) => `${host}/${"x".repeat(maxUrlLength - 50)}`)
      const { body, status } = await world.send(JSON.stringify({ urls }), { "x-api-key": apiKey })
      assert.equal(status, 200, body)
      pages += decodeBatch(body).data.successUrls.length
    })
    return `${pages} pages bought`
  },
})

export const attacks = async (world: World): Promise<ReadonlyArray<Attack>> => {
  const neighbour = await world.keyOf("neighbour")
  // A key for each: the service soon refuses to ask for what an account poisons.
  const attack = async (name: string, fault: FakeVendor.Fault) =>
    poison(
      world,
      name,
      fault,
      await world.keyOf(`poisoner ${name}`.replaceAll(" ", "-")),
      neighbour,
    )
  return [
    hangUps(world, await world.keyOf("leaver", 5000)),
    { ...(await attack("answers 400", failing(400))), isLong: true },
    await attack("answers 500", failing(500)),
    { ...(await attack("never answers", FakeVendor.hang)), isLong: true },
    silentCollector(world),
    stalledBodies(world, await world.keyOf("staller", 0)),
    { ...longPages(world, await world.keyOf("hoarder")), isLong: true },
  ]
}
