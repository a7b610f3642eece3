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
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Patroni from "./support/Patroni.ts"
import * as Proxy from "./support/Proxy.ts"
import * as Standby from "./support/Standby.ts"
import { withVendor } from "./support/withVendor.ts"
import { type Program, programOn } from "./program.ts"
import * as Traffic from "./traffic.ts"

interface Outcome extends Traffic.Tally {
  /** The longest time between two successful answers until the limit, in milliseconds. */
  readonly longestGapMs: number
  /** The time from the promotion to the next successful answer, in milliseconds. */
  readonly backAfterMs: number
}

/** The longest allowed time from the promotion to the next successful answer, in milliseconds. */
const limitMs = 2000

/**
 * The simulated time until the loss of the primary is noticed and the standby is promoted, in
 * milliseconds.
 */
const unnoticedMs = 1000

const clients = 32

/**
 * Puts load on the replicas for so many seconds before the primary is killed, and again after the
 * time limit for the recovery has passed.
 */
const failover = async (seconds: number): Promise<Outcome> => {
  const scope = Effect.runSync(Scope.make())
  const pair = await Standby.start({ durable: true, synchronous: true })
  try {
    const database = Redacted.make(`${pair.primary.url}/postgres`)
    const line = await Effect.runPromise(Scope.extend(Proxy.make(database), scope))
    return await withReplicas(Redacted.value(line.url), async (program, urls) => {
      const apiKey = await program.newKey("load")
      let isOver = false
      const traffic = Traffic.run({ urls, apiKey, clients, goesOn: () => !isOver })
      await sleep(seconds * 1000)
      await pair.primary.kill()
      await sleep(unnoticedMs)
      await pair.standby.promote()
      const promotedAt = performance.now()
      line.turnTo(pair.standby.url)
      line.cut()
      await sleep(limitMs + seconds * 1000)
      isOver = true
      const outcomes = await traffic
      const back = successesOf(outcomes).find((at) => at > promotedAt) ?? Number.POSITIVE_INFINITY
      return {
        ...Traffic.tally(outcomes, await program.charges("load")),
        longestGapMs: longestGapMs(outcomes, -Infinity, promotedAt + limitMs),
        backAfterMs: back - promotedAt,
      }
    })
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await pair.destroy()
  }
}

/** Runs two replicas of the service on this database, with a fake vendor. */
const withReplicas = <A>(
  databaseUrl: string,
  use: (program: Program, urls: ReadonlyArray<string>) => Promise<A>,
): Promise<A> =>
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
      const urls = replicas.map(({ url }) => url)
      return await use(program, urls)
    } finally {
      await Promise.all(replicas.map(({ kill }) => kill()))
    }
  })

/** Returns the times of the successful answers, the earliest first. */
const successesOf = (outcomes: ReadonlyArray<Traffic.Outcome>) =>
  outcomes
    .filter(({ creditsUsed }) => creditsUsed !== undefined)
    .map(({ answeredAt }) => answeredAt)
    .toSorted((one, other) => one - other)

/** Returns the longest time without a successful answer that overlaps the time `from` … `to`. */
const longestGapMs = (outcomes: ReadonlyArray<Traffic.Outcome>, from: number, to: number) => {
  const answered = [...successesOf(outcomes), Number.POSITIVE_INFINITY]
  const gaps = answered.map((at, i) => {
    const before = answered[i - 1] ?? at
    return at >= from && before <= to ? Math.round(at - before) : 0
  })
  return Math.max(0, ...gaps)
}

/** A fault of a cluster. `strike` resolves once the cause of the fault is gone. */
interface Fault {
  readonly name: string
  readonly strike: (cluster: Patroni.Cluster) => Promise<void>
}

/** Longer than the lease of the primary, which is 20 seconds. */
const etcdIsGoneMs = 25_000

const faults: ReadonlyArray<Fault> = [
  {
    name: "the primary is killed",
    strike: async (cluster) => {
      const primary = await cluster.primary()
      await primary.kill()
      await cluster.replaced(primary)
      await primary.start()
    },
  },
  {
    name: "the primary is suspended beyond its lease",
    strike: async (cluster) => {
      const primary = await cluster.primary()
      primary.freeze()
      await cluster.replaced(primary)
      await sleep(5000)
      primary.thaw()
    },
  },
  { name: "etcd is suspended", strike: (cluster) => suspendEtcd(cluster, false) },
  {
    name: "etcd is suspended, with failsafe_mode",
    strike: (cluster) => suspendEtcd(cluster, true),
  },
]

const suspendEtcd = async (cluster: Patroni.Cluster, failsafe: boolean) => {
  await cluster.setFailsafe(failsafe)
  // Each node reads the settings, and the primary lists the nodes, in its next cycle of 5 s.
  await sleep(10_000)
  cluster.freezeEtcd()
  await sleep(etcdIsGoneMs)
  cluster.thawEtcd()
}

/** The time without service for each fault, by the fault's name, in milliseconds. */
type Gaps = Readonly<Record<string, number>>

interface Round {
  readonly tally: Traffic.Tally
  readonly gaps: Gaps
  /** False when the cluster did not recover from a fault. The later faults were left out. */
  readonly hasRecovered: boolean
}

/** One round: all faults, one after the other, under load. */
const patroniRound = async (
  cluster: Patroni.Cluster,
  program: Program,
  urls: ReadonlyArray<string>,
  account: string,
): Promise<Round> => {
  const apiKey = await program.newKey(account)
  let [isOver, hasRecovered] = [false, true]
  const traffic = Traffic.run({ urls, apiKey, clients, pauseMs: 100, goesOn: () => !isOver })
  const times: Array<readonly [name: string, from: number, to: number]> = []
  for (const { name, strike } of faults) {
    await sleep(3000)
    const from = performance.now()
    await strike(cluster)
    hasRecovered = await recovers(cluster)
    times.push([name, from, performance.now()])
    // The charges are counted even so: a cluster that does not recover may have lost some.
    if (!hasRecovered) break
  }
  await sleep(3000)
  isOver = true
  const outcomes = await traffic
  const gaps = times.map(([name, from, to]) => [name, longestGapMs(outcomes, from, to)] as const)
  const tally = Traffic.tally(outcomes, await program.charges(account))
  return { tally, gaps: Object.fromEntries(gaps), hasRecovered }
}

const recovers = async (cluster: Patroni.Cluster) => {
  try {
    await cluster.healthy()
    return true
  } catch (error) {
    console.error(error)
    return false
  }
}

/** The longest allowed time without service, in milliseconds. */
const patroniLimitMs = 60_000

const patroni = async (rounds: number) => {
  const cluster = await Patroni.start()
  try {
    await withReplicas(`${cluster.url}/postgres`, async (program, urls) => {
      const all: Array<Gaps> = []
      for (let round = 1; round <= rounds; round++) {
        const { gaps, hasRecovered, tally } = await patroniRound(
          cluster,
          program,
          urls,
          `round-${round}`,
        )
        console.log(`round ${round}:`, JSON.stringify({ ...tally, gapsMs: Object.values(gaps) }))
        all.push(gaps)
        const isGone = Math.max(...Object.values(gaps)) > patroniLimitMs
        const isBad = tally.lost > 0 || tally.doubled > 0 || isGone || !hasRecovered
        if (isBad) process.exitCode = 1
        if (!hasRecovered) break
      }
      printGaps(all)
    })
  } finally {
    await cluster.destroy()
  }
}

const printGaps = (all: ReadonlyArray<Gaps>) => {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  for (const { name } of faults) {
    const gaps = all.map((one) => one[name] ?? Infinity).toSorted((one, other) => one - other)
    const at = (share: number) => seconds(gaps[Math.ceil(share * gaps.length) - 1] ?? Infinity)
    console.log(
      `${name}, ${gaps.length} times: without service p50 ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)}`,
    )
  }
}

const killed = async (seconds: number) => {
  const outcome = await failover(seconds)
  console.log(outcome)
  const { backAfterMs, doubled, lost } = outcome
  if (lost > 0 || doubled > 0 || backAfterMs > limitMs) {
    console.error(
      `The failover failed: lost ${lost}, doubled ${doubled}, back after ${backAfterMs} ms (limit: ${limitMs} ms).`,
    )
    process.exitCode = 1
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "5" },
      patroni: { type: "boolean", default: false },
      rounds: { type: "string", default: "1" },
    },
  })
  await (values.patroni ? patroni(Number(values.rounds)) : killed(Number(values.seconds)))
}
