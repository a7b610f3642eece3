/** The ledger's methods that only read: `statement`, `totals`, `usage` and `verify`. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AccountId } from "../Account.ts"
import type { CreditLedger } from "./CreditLedger.ts"
import * as Audit from "./Audit.ts"
import { creditsOf } from "./Credits.ts"
import { StoreFailure } from "../StoreFailure.ts"
import { letOthersRun } from "../time/letOthersRun.ts"
import * as Failure from "../sql/Failure.ts"
import { type Queries, problemOfHold, readBooks, readEntry, type TotalsRow } from "./SqlLedger.ts"
import { rowsAfter } from "../sql/paging.ts"
import type { RetryAfterDisconnection } from "../sql/retry.ts"

export const make = (
  queries: Queries,
  retried: RetryAfterDisconnection,
): Pick<CreditLedger["Type"], "statement" | "recent" | "totals" | "usage" | "verify"> => {
  const entriesOf = entriesIn(queries)

  return {
    statement: (account, { since = -Infinity, until = Infinity }) =>
      entriesOf(account).pipe(
        Stream.mapEffect(readable(account)),
        Stream.orDie,
        Stream.filter(({ at }) => since <= at && at < until),
      ),

    recent: (account, { before = Number.MAX_SAFE_INTEGER, limit }) =>
      retried(queries.entriesBefore({ account, before, limit })).pipe(
        Failure.orDie,
        Effect.flatMap(Effect.forEach((row) => readable(account)(readEntry(row)))),
        Effect.orDie,
      ),

    totals: Effect.fn("CreditLedger.totals")(function* (amounts) {
      let held = 0
      let accountsBelow: ReadonlyArray<number> = amounts.map(() => 0)
      let after: string | null = ""
      while (after !== null) {
        const sums: TotalsRow = yield* queries.totalsAfter(after, amounts)
        held += sums.held
        accountsBelow = accountsBelow.map((count, i) => count + Number(sums[`below${i}`]))
        after = sums.last
        yield* letOthersRun
      }
      return { held: creditsOf(held), accountsBelow }
    }, Failure.orDie),

    usage: Effect.fn("CreditLedger.usage")(function* (question) {
      return yield* retried(queries.usage(question))
    }, Failure.orDie),

    verify: verifying(queries),
  }
}

const entriesIn =
  (queries: Queries) =>
  (account: AccountId): Stream.Stream<Audit.ReadEntry> =>
    rowsAfter(
      0,
      (after) => queries.entriesAfter({ account, after }),
      ({ sequence }) => sequence,
    ).pipe(Stream.map(readEntry))

/** Audits the books of every account, and looks for rows that no book has. */
const verifying = (queries: Queries) => {
  const entriesOf = entriesIn(queries)

  const audited = rowsAfter("", queries.booksAfter, ({ accountId }) => accountId).pipe(
    Stream.mapEffect((row) =>
      Either.match(readBooks(row), {
        onLeft: (problem) => Effect.succeed({ entries: 0, problems: [problem] }),
        onRight: ({ accountId, lastEntry, openHolds, ...balance }) =>
          Audit.examine({
            accountId,
            balance,
            openHolds,
            lastEntry,
            // Leaves out entries that were added after the balance was read.
            entries: Stream.take(entriesOf(accountId), lastEntry),
          }),
      }),
    ),
    Audit.summarize,
  )

  const withoutAccount = Effect.forEach(["balances", "entries", "holds"] as const, (table) =>
    Effect.map(Failure.orDie(queries.missingAccounts(table)), (rows) =>
      rows.map(
        ({ accountId }) =>
          `account ${accountId}: the account does not exist, but the table ${table} has rows of it`,
      ),
    ),
  )

  const chargedTwice = Effect.map(Failure.orDie(queries.chargedTwice), (rows) =>
    rows.map(({ requestId }) => `the request ${requestId} is charged more than once`),
  )

  const badHolds = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    rowsAfter("", queries.holdsAfter, ({ requestId }) => requestId).pipe(
      Stream.filterMap((row) => Option.fromNullable(problemOfHold(row, now))),
      Stream.take(Audit.maxProblems),
      Stream.runCollect,
    ),
  )

  return Effect.gen(function* () {
    const verification = yield* audited
    return Audit.withProblems(verification, [
      ...(yield* withoutAccount).flat(),
      ...(yield* chargedTwice),
      ...(yield* badHolds),
    ])
  })
}

const readable = (account: AccountId) =>
  Either.mapLeft(
    (problem: string) =>
      new StoreFailure({
        message: `account ${account}: ${problem}; run 'authority credits verify'`,
      }),
  )
