/** The list on the page. A text is read by the same rules as in `authority check`. */
import type { OwnColumns } from "../../lists/outcomeTable.ts"
import * as List from "../../lists/UrlList.ts"

/** A list to check. The page keeps it in memory only. */
export interface UrlList extends List.UrlList {
  /** The columns, if the list is a table. */
  readonly own: OwnColumns
  /** How many rows repeat the URL of an earlier row, character by character. */
  readonly repeated: number
  /** Why the text cannot be read. */
  readonly problem?: string
}

/** `column` is the number of the column that the user chose. */
export const read = (text: List.Text, column?: string): UrlList => {
  try {
    const list = List.read(text, column)
    const { items, table } = list
    const repeated = items.length - new Set(items.map(({ url }) => url)).size
    return { ...list, own: table?.column === undefined ? undefined : table, repeated }
  } catch (error) {
    if (!(error instanceof List.UnreadableList)) throw error
    const empty = { items: [], table: undefined, guessed: [], own: undefined, repeated: 0 }
    return { ...empty, problem: error.message }
  }
}
