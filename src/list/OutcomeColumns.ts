/** The columns of an outcome, in the files of `authority check` and in the console's exports. */
import type { Failure, Success } from "../contract/Wire.ts"

export const columns = [
  "domainAuthority",
  "pageAuthority",
  "spamScore",
  "reason",
  "provider",
  "source",
  "fetched_at",
  "index",
  "of",
  "cause",
  "detail",
] as const

type Cells = Readonly<Partial<Record<(typeof columns)[number], string | number | null>>>

/** The cells of `columns`. */
export const cellsOf = (outcome: Success | Failure) => {
  const cells: Cells =
    "reason" in outcome
      ? outcome
      : { ...outcome, ...outcome.provenance, fetched_at: outcome.provenance?.fetchedAt ?? null }
  return columns.map((column) => cells[column])
}
