/** Opens the input of a bulk check: a file, or standard input. */
import { readFile, realpath, stat } from "node:fs/promises"
import { buffer } from "node:stream/consumers"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as UrlList from "./UrlList.ts"
import * as Failure from "../database/Failure.ts"

/** The list cannot be read. `message` names the list and says why. */
export class UnreadableInput extends Data.TaggedError("UnreadableInput")<{
  readonly message: string
}> {}

export interface ListFile extends UrlList.UrlList {
  /** The path of the list; undefined for a pipe or a terminal. */
  readonly file: string | undefined
}

/** Reads the whole list at once, to find its errors before credits are spent. */
export const open = (options: {
  /** The path of the list; "-" for standard input. */
  readonly file: string
  readonly column?: string | undefined
  /** Called with each remark about how the list is read. */
  readonly onNote: (note: string) => void
}): Effect.Effect<ListFile, UnreadableInput> =>
  Effect.tryPromise({
    try: async () => {
      const { column, file, onNote } = options
      const isFile = file !== "-" && (await stat(file)).isFile()
      const text = UrlList.decoded(await (file === "-" ? buffer(process.stdin) : readFile(file)))
      const list = UrlList.read(text, column)
      if (text.isGuessed) onNote("The list is not in UTF-8, so it is read as Windows-1252.")
      if (list.table !== undefined) {
        const found = foundColumn(list.table)
        if (column === undefined) onNote(`The URLs are in the column ${found}.`)
      }
      return { ...list, file: isFile ? await realpath(file) : undefined }
    },
    catch: (cause) => {
      const name = options.file === "-" ? "standard input" : options.file
      return new UnreadableInput({
        message:
          cause instanceof UrlList.UnreadableList
            ? `${name} ${cause.message}`
            : `${name} cannot be read: ${Failure.ofFile(cause)}`,
      })
    },
  })

/** Throws UnreadableList when the user has to choose the column. */
const foundColumn = ({ candidates, column, columns, hasHeader }: UrlList.Table): string => {
  const label = (index: number) => (hasHeader ? JSON.stringify(columns[index]) : String(index + 1))
  if (column !== undefined) return label(column)
  const choice = candidates.map(label).join(" or ")
  throw new UrlList.UnreadableList(
    `has no column that is clearly the only one with URLs; choose a column with --column: ${choice}`,
  )
}
