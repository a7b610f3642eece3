/**
 * The ledger's transaction. It locks the accounts and then the idempotency keys, applies the
 * commands to `Books` in memory, and writes the changes.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import type { ParseError } from "effect/ParseResult"
import type { AccountId } from "../Account.ts"
import type { ApiKeyId } from "../ApiKey.ts"
import type { Actor, CurrentRequest } from "../AuditLog.ts"
import { Books } from "./Books.ts"
import type { Hold } from "./Hold.ts"
import type { LedgerEntry } from "./LedgerEntry.ts"
import type { RequestId } from "../RequestId.ts"
import { StoreFailure } from "../StoreFailure.ts"
import { makeNameOf } from "../sql/Accounts.ts"
import { makeRecorded } from "../sql/AuditLog.ts"
import * as GroupCommit from "./GroupCommit.ts"
import type { Heartbeat } from "../sql/Heartbeat.ts"
import type { Queries } from "./SqlLedger.ts"

/** One change to one account's books. */
export interface Command {
  readonly accountId: AccountId
  /** The request whose hold the command ends if the hold is still open. */
  readonly endsHoldOf: RequestId | undefined
  /** The API key whose budget the command needs if the key has one. */
  readonly apiKeyId: ApiKeyId | null | undefined
  /**
   * The command's hold, if that hold has an idempotency key. The commit locks and reads that key.
   */
  readonly keyedHold: Hold | undefined
  /** Who changes the books; undefined for a client's request, which gets no line in the audit log. */
  readonly by: Context.Context<Actor | CurrentRequest> | undefined
  readonly apply: (books: Books, now: number) => void
}

export interface Options {
  /** The maximum lifetime of an open hold, in milliseconds. */
  readonly leaseMs: number
  /** True if the answer to a COMMIT can get lost. Default: false on SQLite, true on PostgreSQL. */
  readonly answersAreLost?: boolean
}

// What the next attempt of a commit must know about the previous attempt. After a lost connection,
// the next attempt must find out whether the previous attempt was committed.
interface Former {
  written?: Books
  /**
   * True when the COMMIT of the attempt may have succeeded although its answer was lost. The next
   * attempt then checks the database for the changes.
   */
  isUndecided: boolean
}

/**
 * Returns a function that makes a part of a commit from any number of commands, with a few
 * statements.
 */
export const make = (
  sql: SqlClient.SqlClient,
  queries: Queries,
  heartbeat: Heartbeat["Type"] | undefined,
  options: Options,
) => {
  // SQLite runs in this process, so the answer to its COMMIT cannot be lost.
  const areLost = sql.onDialectOrElse({ sqlite: () => false, orElse: () => true })
  const { answersAreLost = areLost, leaseMs } = options
  const nameOf = makeNameOf(sql)
  const recorded = makeRecorded(sql)

  // Runs the commands once. Do not create this generator function per commit: V8 would keep each
  // function and the requests that it captures until a major garbage collection.
  const attempt = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>, former: Former) {
    const balances = yield* queries.lockBalances([
      ...new Set(commands.map(({ accountId }) => accountId)),
    ])
    // The previous attempt locked the same accounts. This attempt got the locks, so the previous
    // attempt has ended on the server.
    if (former.written !== undefined && (yield* queries.isWritten(former.written))) return
    former.isUndecided = false
    const keyed = commands.flatMap(({ keyedHold }) => keyedHold ?? [])
    const keys = keyed.length === 0 ? [] : yield* queries.lockKeys(keyed)
    // Also read the hold of each request whose idempotency key has no answer yet: an earlier
    // attempt of this commit may have opened the hold.
    const owners = keys.flatMap(({ answer, requestId }) => (answer === null ? [requestId] : []))
    const ending = new Set([...commands.flatMap(({ endsHoldOf }) => endsHoldOf ?? []), ...owners])
    const holds = ending.size === 0 ? [] : yield* queries.openHolds(ending)
    // After the locks: the time of the commit decides in which period a budget counts it.
    const now = yield* Clock.currentTimeMillis
    const books = new Books(
      leaseMs,
      balances.map((balance) => [balance.accountId, balance] as const),
      holds,
      keys,
      balances.some(({ budgets }) => budgets > 0)
        ? yield* queries.readBudgets(
            [...commands, ...holds].flatMap(({ apiKeyId }) => apiKeyId ?? []),
            [now, ...holds.flatMap(({ heldAt }) => heldAt ?? [])],
          )
        : undefined,
    )
    let write: Effect.Effect<void, SqlError | ParseError> = queries.write(books)
    for (const [entry, by] of applyAll(commands, books, now)) {
      const { accountId, amount, kind, note, sequence } = entry
      const action = kind === "correction" ? "credits.correct" : "credits.grant"
      const detail = { amount, note, entry: sequence }
      write = Effect.provide(recorded(action, yield* nameOf(accountId), detail, write), by)
    }
    yield* write
    former.written = books
    former.isUndecided = answersAreLost
  })

  return (commands: ReadonlyArray<Command>) =>
    Effect.suspend(() => {
      const former: Former = { isUndecided: false }
      return attempt(commands, former).pipe(
        GroupCommit.inTransaction(sql),
        Effect.catchAllDefect((defect) =>
          former.isUndecided && defect instanceof StoreFailure
            ? dieUndecided(defect)
            : Effect.die(defect),
        ),
        measured(commands.length),
        Effect.zipRight(Effect.suspend(() => noteCommit(former.written, heartbeat))),
      )
    })
}

/** Applies the commands to the books. Returns the entries that the audit log gets lines for. */
const applyAll = (commands: ReadonlyArray<Command>, books: Books, now: number) => {
  const acts: Array<readonly [LedgerEntry, Context.Context<Actor | CurrentRequest>]> = []
  for (const { apply, by } of commands) {
    const { length } = books.newEntries
    apply(books, now)
    if (by === undefined) continue
    for (const entry of books.newEntries.slice(length)) acts.push([entry, by])
  }
  return acts
}

const noteCommit = (written: Books | undefined, heartbeat: Heartbeat["Type"] | undefined) => {
  // The Heartbeat takes a commit as proof that the database accepts writes. A commit without
  // changes proves nothing, because it succeeds even on a full disk.
  if (written !== undefined && written.changed.size > 0) heartbeat?.committed()
  return countCharges(written?.newEntries ?? [])
}

const commitSize = Metric.histogram(
  "authority_ledger_commit_commands",
  MetricBoundaries.exponential({ start: 1, factor: 2, count: 10 }),
  "number of commands in one commit",
)

const commitSeconds = Metric.histogram(
  "authority_ledger_commit_seconds",
  MetricBoundaries.fromIterable([
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
  ]),
  "duration of a commit, in seconds",
)

const measured =
  (size: number) =>
  <E>(commit: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.map(Effect.timed(commit), ([duration]) => {
      commitSize.unsafeUpdate(size, [])
      commitSeconds.unsafeUpdate(Duration.toMillis(duration) / 1000, [])
    })

const creditsCharged = Metric.counter("authority_credits_charged", {
  description: "credits charged by this process",
  incremental: true,
})

const countCharges = (entries: ReadonlyArray<LedgerEntry>) =>
  Metric.incrementBy(
    creditsCharged,
    entries.reduce((sum, { amount, kind }) => (kind === "charge" ? sum + amount : sum), 0),
  )

const dieUndecided = ({ cause, message }: StoreFailure) => {
  const failure = new StoreFailure({ message, cause, isUndecided: true })
  const log = Effect.logError(
    "The connection to the database broke during a commit, so the commit may have succeeded or failed. To check the ledger, run 'authority credits verify'.",
    Cause.die(failure),
  )
  return Effect.zipRight(log, Effect.die(failure))
}

/** Returns true for a StoreFailure after which the change may or may not be committed. */
export const isUndecided = (defect: unknown) =>
  defect instanceof StoreFailure && defect.isUndecided === true
