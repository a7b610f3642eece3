/**
 * Audits the books of an account: its entries form one hash chain and add up to its balance, its
 * open holds add up to its held credits, and nothing is negative.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { AccountId } from "../../accounts/Account.ts"
import type { StoreFailure } from "../../database/StoreFailure.ts"
import { chainHash, genesisHash, type LedgerEntry } from "../LedgerEntry.ts"

export const maxProblems = 100

/** The result of an audit. Each problem is a sentence that names the account. */
export interface Verification {
  readonly accounts: number
  readonly entries: number
  readonly problems: ReadonlyArray<string>
}

/** Adds problems, of which only the first 100 are kept. */
export const withProblems = <A extends Pick<Verification, "problems">>(
  verification: A,
  more: ReadonlyArray<string>,
): A => ({
  ...verification,
  problems: [...verification.problems, ...more].slice(0, maxProblems),
})

interface Sums {
  readonly granted: number
  readonly charged: number
  readonly entries: number
  readonly head: string
}

/** What is stored for an account besides its entries, all read at the same moment. */
export interface Recorded extends Sums {
  readonly accountId: AccountId
  readonly held: number
  /** The sum of the account's open holds, in credits. */
  readonly openHolds: number
  /** The `sequence` of the last entry; 0 when there is none. */
  readonly lastEntry: number
}

/** Returns an account's problems. `entries` are those up to `lastEntry`, oldest first. */
export const problemsOf = (recorded: Recorded, entries: Stream.Stream<LedgerEntry, StoreFailure>) =>
  Stream.runFoldEffect(entries, start, next).pipe(
    Effect.match({
      // Entries after the first bad one cannot be checked.
      onFailure: ({ message }) => [message],
      onSuccess: (sums) => {
        const [expected, added] = [inWords(recorded), inWords(sums)]
        return expected === added
          ? []
          : [`the balance records ${expected}, but the entries add up to ${added}`]
      },
    }),
    Effect.map((problems) =>
      [...problems, ...problemsOfHolds(recorded)].map(
        (problem) => `account ${recorded.accountId}: ${problem}`,
      ),
    ),
  )

const start: Sums = { granted: 0, charged: 0, entries: 0, head: genesisHash }

/** Adds an entry to the sums, or returns why the entry does not continue them. */
const next = (
  sums: Sums,
  entry: LedgerEntry,
): Either.Either<Sums, { readonly message: string }> => {
  const { amount, balanceAfter, hash, kind, sequence } = entry
  const isCharge = kind === "charge"
  const granted = sums.granted + (isCharge ? 0 : kind === "grant" ? amount : -amount)
  const charged = sums.charged + (isCharge ? amount : 0)
  const entries = sums.entries + 1
  if (sequence !== entries) {
    return broken(`entry ${entries} is missing: the next entry is entry ${sequence}`)
  }
  if (chainHash(sums.head, entry) !== hash) {
    return broken(`entry ${sequence} was changed: its hash does not match`)
  }
  // No entry may record a negative balance.
  return balanceAfter === granted - charged
    ? Either.right({ granted, charged, entries, head: hash })
    : broken(
        `entry ${sequence} records a balance of ${balanceAfter}, but the entries add up to ${granted - charged}`,
      )
}

const broken = (message: string) => Either.left({ message })

const inWords = ({ charged, entries, granted, head }: Sums) =>
  `${granted} granted and ${charged} charged credits in ${entries} entries with the last hash '${head.slice(0, 8)}'`

const problemsOfHolds = ({ charged, granted, held, openHolds }: Recorded) => [
  ...(held === openHolds
    ? []
    : [`the balance records ${held} held credits, but the open holds add up to ${openHolds}`]),
  ...(granted - charged - held < 0 ? ["more credits are held than the account has"] : []),
]
