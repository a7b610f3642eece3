/** Opens the input of a bulk check: a file, or standard input. */
import { createReadStream } from "node:fs"
import { realpath, stat } from "node:fs/promises"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { maxUrls } from "../contract/Limits.ts"
import * as UrlList from "../list/UrlList.ts"
import { fileProblem } from "../text/fileProblem.ts"

/** The list cannot be read. `message` names the list and says why. */
export class UnreadableInput extends Data.TaggedError("UnreadableInput")<{
  readonly message: string
}> {}

export interface UrlInput {
  /** The URL of each row. */
  readonly urls: ReadonlyArray<string>
  /** Reads the list once more, in pieces. */
  readonly rows: Stream.Stream<ReadonlyArray<UrlList.Item>, UnreadableInput>
  /** The layout of the list; undefined for a list that is not a CSV. */
  readonly table: UrlList.Table | undefined
  /** The path of the list; undefined for a pipe or a terminal. */
  readonly file: string | undefined
}

/**
 * Opens a list of URLs. Reads it once to its end, to find errors before credits are spent. Keeps all
 * rows of a list that cannot be read a second time.
 */
export const open = (options: {
  /** The path of the list; "-" for standard input. */
  readonly file: string
  readonly column?: string | undefined
  /** Called with a sentence about how the list is read, once for each sentence. */
  readonly onNote: (note: string) => void
}): Effect.Effect<UrlInput, UnreadableInput> =>
  Effect.gen(function* () {
    let table: UrlList.Table | undefined
    const notes = new Set<string>()
    const onNote = (note: string) => {
      if (!notes.has(note)) options.onNote(note)
      notes.add(note)
    }
    const read = (name: string, source: () => AsyncIterable<Uint8Array>) => {
      const onTable = (found: UrlList.Table) => (table = found)
      return Stream.suspend(() =>
        Stream.fromAsyncIterable(
          rowsIn(source(), { column: options.column, onNote, onTable }),
          unreadable(name),
        ),
      ).pipe(
        Stream.mapConcat((items) => items),
        Stream.grouped(maxUrls),
        Stream.map(Chunk.toReadonlyArray),
      )
    }
    const once = (list: Stream.Stream<ReadonlyArray<UrlList.Item>, UnreadableInput>) =>
      Effect.map(Stream.runCollect(list), (rows) => ({
        urls: [...rows].flatMap((items) => items.map(({ url }) => url)),
        rows: Stream.fromChunk(rows),
        table,
        file: undefined,
      }))
    const { file: name } = options
    if (name === "-") return yield* once(read("standard input", () => process.stdin))
    const found = yield* Effect.tryPromise({ try: () => stat(name), catch: unreadable(name) })
    if (found.isDirectory()) return yield* unreadable(name)("it is a folder")
    const rows = read(name, () => createReadStream(name))
    if (!found.isFile()) return yield* once(rows)
    const file = yield* Effect.tryPromise({ try: () => realpath(name), catch: unreadable(name) })
    const urls: Array<string> = []
    yield* Stream.runForEach(rows, (items) =>
      Effect.sync(() => urls.push(...items.map(({ url }) => url))),
    )
    return { urls, rows, table, file }
  })

async function* rowsIn(
  bytes: AsyncIterable<Uint8Array>,
  options: {
    readonly column: string | undefined
    readonly onNote: (note: string) => void
    readonly onTable: (table: UrlList.Table) => void
  },
) {
  const { column, onNote, onTable } = options
  const list = UrlList.reader(column)
  let isWindows1252 = false
  const noted = (items: ReadonlyArray<UrlList.Item>) => {
    if (isWindows1252) onNote("The list is not in UTF-8, so it is read as Windows-1252.")
    const table = list.table()
    if (table !== undefined) {
      onTable(table)
      const found = foundColumn(table)
      if (column === undefined) onNote(`The URLs are in the column ${found}.`)
    }
    return items
  }
  for await (const text of UrlList.decoded(bytes, () => (isWindows1252 = true)))
    yield noted(list.push(text))
  yield noted(list.end())
}

/** Throws UnreadableList when the user has to choose the column. */
const foundColumn = ({ candidates, column, columns, hasHeader }: UrlList.Table): string => {
  const label = (index: number) => (hasHeader ? JSON.stringify(columns[index]) : String(index + 1))
  if (column !== undefined) return label(column)
  const choice = candidates.map(label).join(" or ")
  throw new UrlList.UnreadableList(
    `has no column that is clearly the only one with URLs; choose a column with --column: ${choice}`,
  )
}

const unreadable = (name: string) => (cause: unknown) =>
  new UnreadableInput({
    message:
      cause instanceof UrlList.UnreadableList
        ? `${name} ${cause.message}`
        : `${name} cannot be read: ${fileProblem(cause)}`,
  })
