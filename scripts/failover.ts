/**
 * Tests a failover under load. Two replicas of the service connect through a proxy to a primary
 * that has a synchronous standby. The test kills the primary with SIGKILL, promotes the standby,
 * and points the proxy at the standby. Fails when an answered request is not charged, a request is
 * charged twice, or the first successful answer comes more than two seconds after the promotion.
 *
 * With `--patroni`, the replicas connect through HAProxy to three nodes of Patroni. Each of `--rounds`
 * rounds kills the primary, suspends it beyond its lease, and suspends etcd. Prints the time without
 * service. Fails when an answered request is not charged, a request is charged twice, or the service
 * is gone for more than a minute.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Patroni from "./support/Patroni.ts"
import * as Proxy from "./support/Proxy.ts"
import * as Standby from "./support/Standby.ts"
import { withVendor } from "./support/withVendor.ts"
import { type Program, programOn } from "./program.ts"
import * as Traffic from "./traffic.ts"

/** The longest allowed time from the promotion to the next successful answer, in milliseconds. */
const limitMs = 2000

/** The longest allowed time without service in a cluster, in milliseconds. */
const patroniLimitMs = 60_000

/** Runs two replicas of the service on this database, with a fake vendor. */
const withReplicas = (
  databaseUrl: string,
  use: (program: Program, urls: ReadonlyArray<string>) => Promise<void>,
) =>
  withVendor("failover", async (vendor, folder) => {
    const program = programOn({
      cwd: folder,
      settings: {
        AUTHORITY_DATABASE_URL: databaseUrl,
        // While the database is gone, every error is expected.
        AUTHORITY_LOG_LEVEL: "none",
        ...FakeMoz.settings(vendor.url),
      },
    })
    const replicas = await Promise.all([program.serve(), program.serve()])
    try {
      await use(
        program,
        replicas.map(({ url }) => url),
      )
    } finally {
      await Promise.all(replicas.map(({ kill }) => kill()))
    }
  })

/** Puts load on the replicas while `act` runs, and compares the answers with the statement. */
const underLoad = async (
  program: Program,
  urls: ReadonlyArray<string>,
  account: string,
  pauseMs: number,
  act: () => Promise<void>,
) => {
  const apiKey = await program.newKey(account)
  let isOver = false
  const load = { urls, apiKey, clients: 32, pauseMs, goesOn: () => !isOver }
  const traffic = Traffic.run(load)
  await act()
  isOver = true
  const outcomes = await traffic
  const tally = Traffic.tally(outcomes, await program.charges(account))
  if (tally.lost > 0 || tally.doubled > 0) fails("charges are lost or doubled")
  /** The times of the successful answers, the earliest first. */
  const successes = outcomes
    .filter(({ creditsUsed }) => creditsUsed !== undefined)
    .map(({ answeredAt }) => answeredAt)
    .toSorted((one, other) => one - other)
  return { tally, successes }
}

const fails = (why: string) => {
  console.error(`FAILED: ${why}`)
  process.exitCode = 1
}

/** Kills the primary, and promotes the standby a second later, when its loss has been noticed. */
const killed = async (seconds: number) => {
  const pair = await Standby.start({ durable: true, synchronous: true })
  const test = Effect.gen(function* () {
    const line = yield* Proxy.make(Redacted.make(`${pair.primary.url}/postgres`))
    let promotedAt = 0
    const failover = async () => {
      await sleep(seconds * 1000)
      await pair.primary.kill()
      await sleep(1000)
      await pair.standby.promote()
      promotedAt = performance.now()
      line.turnTo(pair.standby.url)
      line.cut()
      await sleep(limitMs + seconds * 1000)
    }
    const run = withReplicas(Redacted.value(line.url), async (program, urls) => {
      const { successes, tally } = await underLoad(program, urls, "load", 0, failover)
      const backAfterMs = (successes.find((at) => at > promotedAt) ?? Infinity) - promotedAt
      console.log({ ...tally, backAfterMs })
      if (backAfterMs > limitMs) fails(`the service was back after ${backAfterMs} ms`)
    })
    yield* Effect.promise(() => run)
  })
  try {
    await Effect.runPromise(Effect.scoped(test))
  } finally {
    await pair.destroy()
  }
}

const suspendEtcd = async (cluster: Patroni.Cluster, failsafe: boolean) => {
  await cluster.setFailsafe(failsafe)
  // Each node reads the settings, and the primary lists the nodes, in its next cycle of 5 s.
  await sleep(10_000)
  cluster.freezeEtcd()
  // Longer than the lease of the primary, which is 20 seconds.
  await sleep(25_000)
  cluster.thawEtcd()
}

/** The faults of a cluster. Each resolves once the cause of the fault is gone. */
const faults: Readonly<Record<string, (cluster: Patroni.Cluster) => Promise<void>>> = {
  "the primary is killed": async (cluster) => {
    const primary = await cluster.primary()
    await primary.kill()
    await cluster.replaced(primary)
    await primary.start()
  },
  "the primary is suspended beyond its lease": async (cluster) => {
    const primary = await cluster.primary()
    primary.freeze()
    await cluster.replaced(primary)
    await sleep(5000)
    primary.thaw()
  },
  "etcd is suspended": (cluster) => suspendEtcd(cluster, false),
  "etcd is suspended, with failsafe_mode": (cluster) => suspendEtcd(cluster, true),
}

/** All faults, one after the other. Prints the longest time without a successful answer of each. */
const patroni = async (rounds: number) => {
  const cluster = await Patroni.start()
  try {
    await withReplicas(`${cluster.url}/postgres`, async (program, urls) => {
      for (let round = 1; round <= rounds; round++) {
        const times: Array<readonly [name: string, from: number, to: number]> = []
        const { successes, tally } = await underLoad(
          program,
          urls,
          `round-${round}`,
          100,
          async () => {
            for (const [name, strike] of Object.entries(faults)) {
              await sleep(3000)
              const from = performance.now()
              await strike(cluster)
              await cluster.healthy()
              times.push([name, from, performance.now()])
            }
            await sleep(3000)
          },
        )
        const gaps = times.map(([name, from, to]) => [name, longestGapMs(successes, from, to)])
        console.log(`round ${round}:`, JSON.stringify({ ...tally, ...Object.fromEntries(gaps) }))
        for (const [name, ms] of gaps) {
          if (Number(ms) > patroniLimitMs) fails(`without service when ${name}`)
        }
      }
    })
  } finally {
    await cluster.destroy()
  }
}

/** Returns the longest time without a successful answer that overlaps the time `from` … `to`. */
const longestGapMs = (successes: ReadonlyArray<number>, from: number, to: number) =>
  [...successes, Infinity].reduce((longest, at, i, all) => {
    const before = all[i - 1] ?? at
    return at >= from && before <= to ? Math.max(longest, Math.round(at - before)) : longest
  }, 0)

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    patroni: { type: "boolean", default: false },
    rounds: { type: "string", default: "1" },
  },
})
await (values.patroni ? patroni(Number(values.rounds)) : killed(Number(values.seconds)))
