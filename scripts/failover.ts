/**
 * Tests a failover under load. Two replicas of the service connect through a proxy to a primary
 * that has a synchronous standby. The test kills the primary with SIGKILL, promotes the standby,
 * and points the proxy at the standby. Fails when an answered request is not charged, a request is
 * charged twice, or the first successful answer comes more than two seconds after the promotion.
 */
import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Proxy from "./support/Proxy.ts"
import * as Standby from "./support/Standby.ts"
import { withVendor } from "./support/withVendor.ts"
import { programOn } from "./program.ts"
import * as Traffic from "./traffic.ts"

/** The longest allowed time from the promotion to the next successful answer, in milliseconds. */
const limitMs = 2000

const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } })
const seconds = Number(values.seconds)
const pair = await Standby.start({ durable: true, synchronous: true })
const test = Effect.gen(function* () {
  const line = yield* Proxy.make(Redacted.make(`${pair.primary.url}/postgres`))

  /**
   * Kills the primary, and promotes the standby a second later, after clients have noticed the
   * loss.
   */
  const failover = async () => {
    await sleep(seconds * 1000)
    await pair.primary.kill()
    await sleep(1000)
    await pair.standby.promote()
    const promotedAt = performance.now()
    line.turnTo(pair.standby.url)
    line.cut()
    await sleep(limitMs + seconds * 1000)
    return promotedAt
  }

  const run = withVendor("failover", async (vendor, folder) => {
    const program = programOn({
      cwd: folder,
      settings: {
        AUTHORITY_DATABASE_URL: Redacted.value(line.url),
        // While the database is gone, every error is expected.
        AUTHORITY_LOG_LEVEL: "none",
        ...FakeMoz.settings(vendor.url),
      },
    })
    const replicas = await Promise.all([program.serve(), program.serve()])
    try {
      const urls = replicas.map(({ url }) => url)
      const apiKey = await program.newKey("load")
      let isOver = false
      const traffic = Traffic.run({ urls, apiKey, clients: 32, goesOn: () => !isOver })
      const promotedAt = await failover()
      isOver = true
      const outcomes = await traffic
      const tally = Traffic.tally(outcomes, await program.charges("load"))
      const successes = outcomes.filter(({ creditsUsed }) => creditsUsed !== undefined)
      const later = successes.map(({ answeredAt }) => answeredAt).filter((at) => at > promotedAt)
      const backAfterMs = Math.min(...later) - promotedAt
      console.log({ ...tally, backAfterMs })
      assert.deepEqual([tally.lost, tally.doubled], [0, 0], "charges are lost or doubled")
      assert(backAfterMs <= limitMs, `the service was back after ${backAfterMs} ms`)
    } finally {
      await Promise.all(replicas.map(({ kill }) => kill()))
    }
  })
  yield* Effect.promise(() => run)
})
try {
  await Effect.runPromise(Effect.scoped(test))
} finally {
  await pair.destroy()
}
