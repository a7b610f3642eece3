/** Opens the input of a bulk check: a file, or standard input. */
import { createReadStream } from "node:fs"
import { realpath, stat } from "node:fs/promises"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { maxUrls } from "../contract/Limits.ts"
import * as UrlList from "../lists/UrlList.ts"
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
          UrlList.rowsIn(source(), { column: options.column, onNote, onTable }),
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

const unreadable = (name: string) => (cause: unknown) =>
  new UnreadableInput({
    message:
      cause instanceof UrlList.UnreadableList
        ? `${name} ${cause.message}`
        : `${name} cannot be read: ${fileProblem(cause)}`,
  })
