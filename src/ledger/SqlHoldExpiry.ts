/**
 * Ends the holds that their requests did not end: holds whose lease is over, whose process died, or
 * whose release failed.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Hold } from "./Hold.ts"
import type { RequestId } from "../RequestId.ts"
import * as SteadyClock from "../time/SteadyClock.ts"
import * as Failure from "../sql/Failure.ts"
import type { Heartbeat } from "../sql/Heartbeat.ts"
import type { OwnedHold, Queries, Rows } from "./SqlLedger.ts"
import { pageSize, sweep } from "../sql/paging.ts"

/** A hold whose release failed, so that the hold is perhaps still open. */
interface Unreleased {
  readonly hold: Hold
  /**
   * The latest time at which the hold's lease can end, in epoch milliseconds. Only the database has
   * the exact time.
   */
  readonly until: number
}

export interface HoldExpiry {
  /**
   * Makes `expire` repeat a failed release until it succeeds, or until the time `until` (epoch ms).
   */
  readonly releaseFailed: (hold: Hold, until: number) => void
  /**
   * Ends every hold whose lease is over, whose process died or whose release failed, and deletes
   * expired idempotency keys, those with an answer only while the clock is steady. Returns the number of holds that this call ended.
   */
  readonly expire: Effect.Effect<number>
}

type Release = (hold: Hold) => Effect.Effect<boolean>

/**
 * `release` ends a hold and returns true, or returns false if the hold had already ended. `release`
 * dies when the store fails.
 */
export const make = (options: {
  readonly sql: SqlClient.SqlClient
  readonly queries: Queries
  readonly heartbeat: Heartbeat["Type"] | undefined
  readonly release: Release
}): HoldExpiry => {
  const { heartbeat, queries, release, sql } = options
  // The holds whose release failed, by request id. There is at most one for each request that was
  // in progress when the database failed.
  const unreleased = new Map<RequestId, Unreleased>()

  const endGone =
    heartbeat === undefined
      ? Effect.succeed(0)
      : Effect.flatMap(Failure.orDie(heartbeat.takeGone), (owners) =>
          sumOf(
            owners.map((owner) => endAll(Effect.map(queries.holdsOf(owner), withKeys), release)),
          ),
        )

  const isSteady = SteadyClock.make()

  return {
    releaseFailed: (hold, until) => {
      unreleased.set(hold.requestId, { hold, until })
    },

    // Delete the expired idempotency keys first: the release of a hold dies when the books are
    // corrupt, so a later deletion would never run. If the database is unreachable, the deletion
    // dies, and no release is tried.
    expire: Effect.flatMap(Effect.all([Clock.currentTimeMillis, isSteady]), ([now, steady]) =>
      Effect.zipRight(
        Effect.zipRight(
          sweep(sql, queries.forgetKeys(now, steady)),
          steady ? sweep(sql, queries.forgetActs(now)) : Effect.void,
        ),
        sumOf([
          Effect.suspend(() => releaseAgain(unreleased, now, release)),
          endGone,
          endAll(queries.expiredHolds(now), release),
        ]),
      ),
    ),
  }
}

const releaseAgain = (
  unreleased: Map<RequestId, Unreleased>,
  now: number,
  release: Release,
): Effect.Effect<number> =>
  Effect.map(
    Effect.forEach(
      unreleased.values(),
      ({ hold, until }) =>
        Effect.map(Effect.exit(release(hold)), (exit) => {
          if (Exit.isSuccess(exit) || until <= now) unreleased.delete(hold.requestId)
          return Exit.isSuccess(exit) && exit.value
        }),
      { concurrency: "unbounded" },
    ),
    countOf,
  )

const endAll = (holds: Rows<Hold>, release: Release): Effect.Effect<number> =>
  Effect.gen(function* () {
    const page = yield* Failure.orDie(holds)
    const ended = countOf(yield* Effect.forEach(page, release, { concurrency: "unbounded" }))
    return page.length < pageSize ? ended : ended + (yield* endAll(holds, release))
  })

const withKeys = (rows: ReadonlyArray<OwnedHold>): ReadonlyArray<Hold> =>
  rows.map(({ fingerprint, key, ...hold }) =>
    key === null || fingerprint === null ? hold : { ...hold, idempotencyKey: { key, fingerprint } },
  )

const countOf = (wereOpen: ReadonlyArray<boolean>) => wereOpen.filter((wasOpen) => wasOpen).length

const sumOf = (counts: ReadonlyArray<Effect.Effect<number>>) =>
  Effect.reduce(counts, 0, (sum, count) => Effect.map(count, (more) => sum + more))
