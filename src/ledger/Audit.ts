/**
 * Audits the ledger: recomputes each account's balance and hash chain from its entries, and
 * compares the held credits with the open holds. Reads the entries as a stream, which a store can
 * load in pages.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { AccountId } from "../Account.ts"
import type { Balance } from "./Balance.ts"
import { chainHash, genesisHash, type LedgerEntry } from "./LedgerEntry.ts"

/** The maximum number of problems that one verification lists. */
export const maxProblems = 100

/** The result of an audit. Each problem is a sentence that names the account. */
export interface Verification {
  readonly accounts: number
  readonly entries: number
  readonly problems: ReadonlyArray<string>
}

interface AccountBooks {
  readonly accountId: AccountId
  readonly balance: Balance
  /** Sum of the account's open holds in credits, read at the same moment as the balance. */
  readonly openHolds: number
  /** The last stored `sequence`, read at the same moment as the balance; 0 without entries. */
  readonly lastEntry: number
  /** The stored entries up to and including `lastEntry`, oldest first. */
  readonly entries: Stream.Stream<ReadEntry>
}

/** A stored entry, or a sentence that says why it cannot be read. */
export type ReadEntry = Either.Either<LedgerEntry, string>

/** Audits one account. `problems` is empty when the account's books are correct. */
export const examine = (
  books: AccountBooks,
): Effect.Effect<{ readonly entries: number; readonly problems: ReadonlyArray<string> }> =>
  Effect.map(
    Stream.runFold(books.entries, start, (sums, entry) => {
      // The hash chain is broken at the first bad entry, so later entries cannot be checked.
      if (sums.broken !== undefined) return sums
      return Either.isLeft(entry)
        ? { ...sums, entries: sums.entries + 1, broken: entry.left }
        : next(sums, entry.right)
    }),
    (sums) => ({
      entries: sums.entries,
      problems: [
        ...(sums.broken === undefined ? closing(books, sums) : [sums.broken]),
        ...holding(books),
      ].map((problem) => `account ${books.accountId}: ${problem}`),
    }),
  )

/** Adds up the audits of all accounts. Keeps the first 100 problems. */
export const summarize = (
  examinations: Stream.Stream<Effect.Effect.Success<ReturnType<typeof examine>>>,
): Effect.Effect<Verification> =>
  Stream.runFold(
    examinations,
    { accounts: 0, entries: 0, problems: [] },
    (sum: Verification, { entries, problems }) => ({
      accounts: sum.accounts + 1,
      entries: sum.entries + entries,
      problems: [...sum.problems, ...problems].slice(0, maxProblems),
    }),
  )

/** Adds problems that were found elsewhere. Keeps the first 100 problems. */
export const withProblems = (
  verification: Verification,
  more: ReadonlyArray<string>,
): Verification => ({
  ...verification,
  problems: [...verification.problems, ...more].slice(0, maxProblems),
})

interface Sums {
  readonly entries: number
  readonly granted: number
  readonly charged: number
  readonly head: string
  readonly broken: string | undefined
}

const start: Sums = { entries: 0, granted: 0, charged: 0, head: genesisHash, broken: undefined }

const next = (sums: Sums, entry: LedgerEntry): Sums => {
  const after: Sums = {
    entries: sums.entries + 1,
    granted: sums.granted + grantedBy(entry),
    charged: sums.charged + (entry.kind === "charge" ? entry.amount : 0),
    head: entry.hash,
    broken: undefined,
  }
  const broken =
    breakOf(after.entries, entry, chainHash(sums.head, entry)) ??
    (entry.balanceAfter !== after.granted - after.charged
      ? `entry ${entry.sequence} records a balance of ${entry.balanceAfter}, but the entries add up to ${after.granted - after.charged}`
      : after.granted < after.charged
        ? `entry ${entry.sequence} takes the balance below 0`
        : undefined)
  return { ...after, broken }
}

const grantedBy = ({ amount, kind }: LedgerEntry) =>
  kind === "grant" ? amount : kind === "correction" ? -amount : 0

/**
 * Returns why a record does not continue its chain; undefined when it does. `sequence` and `hash`
 * are what the record must have.
 */
const breakOf = (
  sequence: number,
  record: { readonly sequence: number; readonly hash: string },
  hash: string,
): string | undefined =>
  record.sequence !== sequence
    ? `entry ${sequence} is missing: the next entry is entry ${record.sequence}`
    : record.hash !== hash
      ? `entry ${sequence} was changed: its hash does not match`
      : undefined

const closing = ({ balance, lastEntry }: AccountBooks, sums: Sums): ReadonlyArray<string> =>
  lastEntry > balance.entries
    ? [`entry ${balance.entries + 1} exists, but the balance counts ${balance.entries} entries`]
    : balance.entries !== sums.entries
      ? [`entry ${sums.entries + 1} is missing: the balance counts ${balance.entries} entries`]
      : balance.head !== sums.head
        ? [`entry ${sums.entries} is not the last entry that the balance records`]
        : balance.granted !== sums.granted || balance.charged !== sums.charged
          ? [
              `the balance records ${balance.granted} granted and ${balance.charged} charged credits, ` +
                `but the entries add up to ${sums.granted} and ${sums.charged}`,
            ]
          : []

const holding = ({ balance, openHolds }: AccountBooks): ReadonlyArray<string> => [
  ...(balance.held === openHolds
    ? []
    : [
        `the balance records ${balance.held} held credits, but the open holds add up to ${openHolds}`,
      ]),
  ...(balance.granted - balance.charged - balance.held < 0
    ? [`more credits are held than the account has`]
    : []),
]
