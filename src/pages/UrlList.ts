/** The list of a run: the URLs of a text, without repeated URLs unless the user keeps them. */
import * as List from "../list/UrlList.ts"

/** A URL of the list. */
export interface Item {
  readonly url: string
  /**
   * One array for each table line that contains this URL: the cells of the line without the cell of
   * the URL.
   */
  readonly lines?: ReadonlyArray<ReadonlyArray<string>>
}

export interface UrlList {
  readonly items: ReadonlyArray<Item>
  /** How many repeated URLs were left out. */
  readonly duplicates: number
  /** Undefined when the text is not a table. */
  readonly table: List.Table | undefined
  /**
   * The names of the columns of the user's table, except the column with the URLs. Each array in
   * `Item.lines` has one cell for each name.
   */
  readonly others: ReadonlyArray<string>
  /** Why the text cannot be read. */
  readonly problem?: string
}

/** `column` is the number of the column that the user chose. */
export const read = (
  text: string,
  options: { readonly keepsDuplicates: boolean; readonly column?: string | undefined },
): UrlList => {
  try {
    const reader = List.reader(options.column)
    const all = [...reader.push(text), ...reader.end()]
    const table = reader.table()
    const items = itemsOf(all, table !== undefined, options.keepsDuplicates)
    const others = table?.columns.filter((_, index) => index !== table.column) ?? []
    return { items, duplicates: all.length - items.length, table, others }
  } catch (error) {
    if (!(error instanceof List.UnreadableList)) throw error
    return { items: [], duplicates: 0, table: undefined, others: [], problem: error.message }
  }
}

/** The first occurrence of a URL gets the table lines of all occurrences that are left out. */
const itemsOf = (all: ReadonlyArray<List.Item>, isTable: boolean, keepsDuplicates: boolean) => {
  const linesOf = new Map<unknown, Array<ReadonlyArray<string>>>()
  const items: Array<Item> = []
  for (const item of all) {
    const { others, url } = item
    const key = keepsDuplicates ? item : url
    const lines = linesOf.get(key)
    if (lines !== undefined) {
      lines.push(others)
      continue
    }
    const own = [others]
    linesOf.set(key, own)
    items.push(isTable ? { url, lines: own } : { url })
  }
  return items
}
