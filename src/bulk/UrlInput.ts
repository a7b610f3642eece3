/** Opens the input of a bulk check: a file, or standard input. */
import { createReadStream } from "node:fs"
import { realpath, stat } from "node:fs/promises"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { maxUrls } from "../contract/Limits.ts"
import * as UrlList from "../list/UrlList.ts"

/** The list cannot be read. `message` names the list and says why. */
export class UnreadableInput extends Data.TaggedError("UnreadableInput")<{
  readonly message: string
}> {}

export interface UrlInput {
  readonly batches: Stream.Stream<ReadonlyArray<string>, UnreadableInput>
  /**
   * The input file; undefined for a pipe or a terminal, which a later run cannot read a second
   * time.
   */
  readonly file: { readonly path: string; readonly urls: number } | undefined
}

/** Opens a list of URLs. Reads a file once to its end, to find errors before credits are spent. */
export const open = (options: {
  /** The path of the list; "-" for standard input. */
  readonly file: string
  readonly column?: string | undefined
  /** Called with a sentence about how the list is read, once for each sentence. */
  readonly onNote: (note: string) => void
}): Effect.Effect<UrlInput, UnreadableInput> =>
  Effect.gen(function* () {
    const notes = new Set<string>()
    const onNote = (note: string) => {
      if (!notes.has(note)) options.onNote(note)
      notes.add(note)
    }
    const read = (name: string, source: () => AsyncIterable<Uint8Array>) =>
      Stream.suspend(() =>
        Stream.fromAsyncIterable(urlsIn(source(), options.column, onNote), unreadable(name)),
      ).pipe(
        Stream.mapConcat((urls) => urls),
        Stream.grouped(maxUrls),
        Stream.map(Chunk.toReadonlyArray),
      )
    const { file: name } = options
    if (name === "-") {
      return { batches: read("standard input", () => process.stdin), file: undefined }
    }
    const found = yield* Effect.tryPromise({ try: () => stat(name), catch: unreadable(name) })
    if (found.isDirectory()) return yield* unreadable(name)("it is a folder")
    const batches = read(name, () => createReadStream(name))
    if (!found.isFile()) return { batches, file: undefined }
    const path = yield* Effect.tryPromise({ try: () => realpath(name), catch: unreadable(name) })
    const urls = yield* Stream.runFold(batches, 0, (count, { length }) => count + length)
    return { batches, file: { path, urls } }
  })

async function* urlsIn(
  bytes: AsyncIterable<Uint8Array>,
  column: string | undefined,
  onNote: (note: string) => void,
) {
  const list = UrlList.reader(column)
  let isWindows1252 = false
  const urlsOf = (items: ReadonlyArray<UrlList.Item>) => {
    if (isWindows1252) onNote("The list is not in UTF-8, so it is read as Windows-1252.")
    const table = list.table()
    if (table !== undefined) {
      const found = foundColumn(table)
      if (column === undefined) onNote(`The URLs are in the column ${found}.`)
    }
    return items.map(({ url }) => url)
  }
  for await (const text of UrlList.decoded(bytes, () => (isWindows1252 = true)))
    yield urlsOf(list.push(text))
  yield urlsOf(list.end())
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
        : `${name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
  })
