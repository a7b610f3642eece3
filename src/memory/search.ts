import type { ApiKey } from "../ApiKey.ts"
import * as Search from "../Search.ts"

/** Sorts rows from the newest to the oldest, and returns the page that `search` asks for. */
export const pageOf = <Row extends { readonly id: string }>(
  rows: Iterable<Row>,
  { before, limit }: Search.Search,
  isFound: (row: Row) => boolean,
): ReadonlyArray<Row> =>
  [...rows]
    .filter((row) => (before === undefined || row.id < before) && isFound(row))
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit)

/** True when a name or a label contains the text of a search. */
export const contains = (text: string | undefined, name: string | null): boolean =>
  text === undefined || (name !== null && Search.folded(name).includes(Search.folded(text)))

/** True when the label of a key contains the text of a search, or the key begins with it. */
export const findsKey = (text: string | undefined, { label, start }: ApiKey): boolean => {
  const wanted = Search.startOf(text ?? "")
  return contains(text, label) || (wanted !== undefined && start.startsWith(wanted))
}
