/**
 * Ends the holds that their requests did not end: holds whose lease is over, whose process died, or
 * whose release failed.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Hold } from "../ledger/Hold.ts"
import type { RequestId } from "../RequestId.ts"
import * as Failure from "./Failure.ts"
import type { Heartbeat } from "./Heartbeat.ts"
import { type Queries, type Rows } from "./ledgerQueries.ts"
import { nextPage } from "./paging.ts"

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
   * expired idempotency keys. Returns the number of holds that this call ended.
   */
  readonly expire: Effect.Effect<number>
}

/**
 * `release` ends a hold and returns true, or returns false if the hold had already ended. `release`
 * dies when the store fails.
 */
export const make = (options: {
  readonly sql: SqlClient.SqlClient
  readonly queries: Queries
  readonly heartbeat: Heartbeat["Type"] | undefined
  readonly release: (hold: Hold) => Effect.Effect<boolean>
}): HoldExpiry => {
  const { heartbeat, queries, release, sql } = options
  /**
   * The holds whose release failed, by request id. There is at most one for each request that was
   * in progress when the database failed.
   */
  const unreleased = new Map<RequestId, Unreleased>()

  /** Repeats the failed releases. Returns the number of holds that this call ended. */
  const releaseAgain = (now: number): Effect.Effect<number> => {
    const again = ({ hold, until }: Unreleased) =>
      Effect.map(Effect.exit(release(hold)), (exit) => {
        if (Exit.isSuccess(exit) || until <= now) unreleased.delete(hold.requestId)
        return Exit.isSuccess(exit) && exit.value
      })
    return Effect.map(
      Effect.forEach(unreleased.values(), again, { concurrency: "unbounded" }),
      (wereOpen) => wereOpen.filter((wasOpen) => wasOpen).length,
    )
  }

  /**
   * Ends all holds that `holds` reads, page by page. Returns the number of holds that this call
   * ended.
   */
  const end = (holds: Rows<Hold>): Effect.Effect<number> =>
    Stream.paginateChunkEffect(undefined, () =>
      Effect.gen(function* () {
        const page = yield* Failure.orDie(holds)
        const ended = yield* Effect.forEach(page, release, { concurrency: "unbounded" })
        return [Chunk.unsafeFromArray(ended), Option.as(nextPage(page), undefined)]
      }),
    ).pipe(Stream.runFold(0, (count, wasOpen) => count + (wasOpen ? 1 : 0)))

  const endHoldsOf = (owner: string) =>
    end(
      Effect.map(queries.holdsOf(owner), (rows) =>
        rows.map(({ fingerprint, key, ...hold }) =>
          key === null || fingerprint === null
            ? hold
            : { ...hold, idempotencyKey: { key, fingerprint } },
        ),
      ),
    )

  /**
   * Ends the holds of dead processes and deletes the idempotency keys of these holds. Returns the
   * number of holds that this call ended.
   */
  const endGone =
    heartbeat === undefined
      ? Effect.succeed(0)
      : Effect.flatMap(Failure.orDie(heartbeat.takeGone), (owners) =>
          Effect.reduce(owners, 0, (count, owner) =>
            Effect.map(endHoldsOf(owner), (ended) => count + ended),
          ),
        )

  const forgetKeys = (now: number): Effect.Effect<void> =>
    queries
      .forgetKeys(now)
      .pipe(
        sql.withTransaction,
        Effect.repeat({ while: (mayBeMore) => mayBeMore }),
        Effect.asVoid,
        Failure.orDie,
      )

  return {
    releaseFailed: (hold, until) => {
      unreleased.set(hold.requestId, { hold, until })
    },

    // Delete the expired idempotency keys first: the release of a hold dies when the books are
    // corrupt, so a later deletion would never run. If the database is unreachable, the deletion
    // dies, and no release is tried.
    expire: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.zipRight(
        forgetKeys(now),
        Effect.reduce(
          [Effect.suspend(() => releaseAgain(now)), endGone, end(queries.expiredHolds(now))],
          0,
          (count, ending) => Effect.map(ending, (ended) => count + ended),
        ),
      ),
    ),
  }
}
