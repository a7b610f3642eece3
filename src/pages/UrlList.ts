/** The list of a run: the rows of a text, by the same rules as `authority check`. */
import * as List from "../lists/UrlList.ts"
import type { KeptList } from "./KeptRun.ts"

export interface UrlList extends KeptList {
  /** How many rows repeat the URL of an earlier row, letter by letter. */
  readonly repeated: number
  /** Undefined when the text is not a table. */
  readonly table: List.Table | undefined
  /** The URLs whose host has letters outside ASCII that come from a guessed encoding. */
  readonly guessed: ReadonlyArray<string>
  /** Why the text cannot be read. */
  readonly problem?: string
}

/** `column` is the number of the column that the user chose. */
export const read = (text: List.Text, column?: string): UrlList => {
  try {
    const { guessed, items: all, table } = List.read(text, column)
    const items = all.map(({ others, url }) => ({ url, others: [...others] }))
    const repeated = items.length - new Set(items.map(({ url }) => url)).size
    return table?.column === undefined
      ? { items, repeated, table, guessed }
      : {
          items,
          repeated,
          table,
          guessed,
          own: { column: table.column, columns: [...table.columns] },
        }
  } catch (error) {
    if (!(error instanceof List.UnreadableList)) throw error
    return { items: [], repeated: 0, table: undefined, guessed: [], problem: error.message }
  }
}

/**
 * True when one list is another version of the other: each has at least half of the other's URLs.
 */
export const areVersions = (one: KeptList, other: KeptList): boolean => {
  const [first, second] = [one, other].map(({ items }) => new Set(items.map(({ url }) => url)))
  if (first === undefined || second === undefined) return false
  const common = [...first].filter((url) => second.has(url)).length
  return common > 0 && common * 2 >= Math.max(first.size, second.size)
}
