/**
 * Tests that replicas buy once: in each round, two replicas of the program on one PostgreSQL get 800
 * concurrent requests for 40 new hosts, and the vendor must sell 40 rows. With `--kill`, one replica
 * is killed with SIGKILL in the middle of its first call: then the vendor may also sell the rows of
 * the killed replica's calls anew, and each request to the other replica must get all figures.
 *
 *     npm run claims [-- --rounds 100] [-- --kill]
 */
import { parseArgs } from "node:util"
import * as Round from "./claim-round.ts"
import { programOn } from "./program.ts"
import * as Postgres from "./support/Postgres.ts"
import { withVendor } from "./support/withVendor.ts"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    kill: { type: "boolean", default: false },
  },
})
const isKill = values.kill

/** Prints a round, and returns true when it is right. */
const isRight = (round: number, figures: Round.Figures) => {
  const { failed, inFlight, rows, slowestMs } = figures
  const most = Round.hostsOfRound + inFlight
  console.log(
    `round ${round}: ${rows} rows${isKill ? ` (at most ${most})` : ""}, ${failed} requests without all figures, slowest answer ${(slowestMs / 1000).toFixed(1)} s`,
  )
  return rows >= Round.hostsOfRound && rows <= most && failed === 0 && slowestMs < 30_000
}

await withVendor("claims", async (moz, folder) => {
  const server = await Postgres.start({ durable: false })
  const vendor = Round.watched(moz)
  const programs = [0, 1].map((index) =>
    programOn({
      cwd: folder,
      settings: {
        AUTHORITY_DATABASE_URL: `${server.url}/postgres`,
        // A killed process delays the other one by this time and two seconds.
        ...(isKill && { AUTHORITY_PROVIDER_TIMEOUT: "3s" }),
        ...Round.settingsOf(vendor, index),
      },
    }),
  )
  const [first, second] = programs
  if (first === undefined || second === undefined) throw new Error("there are two programs")

  try {
    const apiKey = await first.newKey("claims")
    const one = await first.serve()
    let other = await second.serve()
    try {
      let right = 0
      const rounds = Number(values.rounds)
      for (let round = 1; round <= rounds; round++) {
        const figures = await Round.runRound({ vendor, apiKey, replicas: [one, other], isKill })
        if (isRight(round, figures)) right++
        if (isKill) other = await second.serve()
      }
      console.log(`${right} of ${rounds} rounds were right.`)
      if (right < rounds) process.exitCode = 1
    } finally {
      await Promise.all([one.kill(), other.kill()])
    }
  } finally {
    await server.destroy()
  }
})
