/**
 * Compares bought requests of 50 URLs on the service, on the peer, and on the service's libraries in
 * their plain form (`plain-server.ts`), which does the peer's work and none of the service's. Needs
 * a build, wrk and a quiet machine.
 *
 *     npm run build && node scripts/bench/plain.ts [--seconds 5] [--rounds 5]
 */
import { join } from "node:path"
import { parseArgs } from "node:util"
import { load, type Measure, medians, writeRequests } from "./measure.ts"
import { batches, boughtUrls } from "./requests.ts"
import * as Servers from "./servers.ts"
import { heapFlags } from "../heap-flags.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
  },
})
const seconds = Number(values.seconds)

const folder = Servers.newFolder()
const file = join(folder, "requests")
writeRequests(file, batches(boughtUrls, { count: 50, isNamed: true }))

try {
  const vendor = await Servers.start("the vendor", folder, [Servers.script("vendor.ts")])
  const plain = [process.execPath, ...heapFlags, Servers.script("plain-server.ts"), vendor.url]
  const servers = [
    await Servers.start("the peer", folder, [Servers.script("peer.ts"), "bought", vendor.url]),
    await Servers.start("the plain libraries", folder, plain),
    await Servers.startService({
      name: "the service",
      cwd: folder,
      program: join(Servers.dist, "authority.cjs"),
      settings: { ...Servers.mozSettings(vendor), AUTHORITY_CACHE_TTL: "0s" },
    }),
  ].map((server) => ({ server, rounds: new Array<Measure>() }))
  for (const { server } of servers) await load(server, { file, seconds })
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { rounds, server } of round % 2 === 0 ? servers : servers.toReversed()) {
      rounds.push(await load(server, { file, seconds }))
    }
  }
  const [peer = Number.NaN] = servers.map(({ rounds }) => medians(rounds).perSecond)
  for (const { rounds, server } of servers) {
    const { cpuUs, perSecond } = medians(rounds)
    console.log(
      `${server.name}: ${perSecond.toFixed(0)} requests/s, ${(perSecond / peer).toFixed(2)} × the peer, ${cpuUs.toFixed(0)} µs of CPU`,
    )
  }
} finally {
  await Servers.stopAll()
}
