/**
 * Tests a failover under load. Two replicas of the service connect through a proxy to a primary
 * that has a synchronous standby. The test kills the primary with SIGKILL, promotes the standby,
 * and points the proxy at the standby. Fails when an answered request is not charged, a request is
 * charged twice, or the first successful answer comes more than two seconds after the promotion.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Proxy from "./support/Proxy.ts"
import * as Standby from "./support/Standby.ts"
import { programOn } from "./program.ts"
import * as Traffic from "./traffic.ts"

export interface Options {
  /**
   * The duration of each of two periods of load, in seconds: one before the primary is killed, and
   * one after the time limit for the recovery has passed.
   */
  readonly seconds: number
}

export interface Outcome extends Traffic.Tally {
  /** The longest time between two successful answers, in milliseconds. */
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

export const failover = async ({ seconds }: Options): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), "authority-failover-"))
  const scope = Effect.runSync(Scope.make())
  const vendor = await Effect.runPromise(Scope.extend(FakeMoz.make, scope))
  const pair = await Standby.start({ durable: true, synchronous: true })
  const database = Redacted.make(`${pair.primary.url}/postgres`)
  const line = await Effect.runPromise(Scope.extend(Proxy.make(database), scope))
  const program = programOn({
    cwd: folder,
    settings: {
      AUTHORITY_DATABASE_URL: Redacted.value(line.url),
      ...FakeMoz.settings(vendor.url),
    },
  })
  const apiKey = await program.newKey("load")
  const replicas = await Promise.all([program.serve(), program.serve()])
  try {
    let isOver = false
    const urls = replicas.map(({ url }) => url)
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
    return {
      ...Traffic.tally(outcomes, await program.charges("load")),
      ...pausesOf(outcomes, promotedAt),
    }
  } finally {
    await Promise.all(replicas.map(({ kill }) => kill()))
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await pair.destroy()
    rmSync(folder, { recursive: true, force: true })
  }
}

const pausesOf = (outcomes: ReadonlyArray<Traffic.Outcome>, promotedAt: number) => {
  const answered = outcomes
    .filter(({ creditsUsed }) => creditsUsed !== undefined)
    .map(({ answeredAt }) => answeredAt)
    .toSorted((one, other) => one - other)
  const gaps = answered.map((at, i) => at - (answered[i - 1] ?? at))
  const back = answered.find((at) => at > promotedAt) ?? Number.POSITIVE_INFINITY
  return { longestGapMs: Math.max(...gaps), backAfterMs: back - promotedAt }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } })
  const outcome = await failover({ seconds: Number(values.seconds) })
  console.log(outcome)
  const { backAfterMs, doubled, lost } = outcome
  if (lost > 0 || doubled > 0 || backAfterMs > limitMs) {
    console.error(
      `The failover failed: lost ${lost}, doubled ${doubled}, back after ${backAfterMs} ms (limit: ${limitMs} ms).`,
    )
    process.exitCode = 1
  }
}
