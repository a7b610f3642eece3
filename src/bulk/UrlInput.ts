/** Opens the input of a bulk check: a file, or standard input. */
import { createReadStream } from "node:fs"
import { realpath, stat } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { maxUrls } from "../contract/Limits.ts"
import * as UrlList from "./UrlList.ts"

export interface UrlInput {
  readonly batches: Stream.Stream<ReadonlyArray<string>, UrlList.UnreadableList>
  /**
   * The input file; undefined for a pipe or a terminal, which a later run cannot read a second
   * time.
   */
  readonly file: { readonly path: string; readonly urls: number } | undefined
}

/** Opens a list of URLs. Reads a file once to its end, to find errors before credits are spent. */
export const open = (options: {
  /** The path of the list; `None` for standard input. */
  readonly file: Option.Option<string>
  readonly column: Option.Option<string>
  /**
   * Called once, with the name or number of the CSV column in which the URLs were found. Not called
   * when `column` is set.
   */
  readonly onColumn: (column: string) => void
}): Effect.Effect<UrlInput, UrlList.UnreadableList> =>
  Effect.gen(function* () {
    let isReported = false
    const onColumn = (column: string) => {
      if (!isReported) options.onColumn(column)
      isReported = true
    }
    const read = (name: string, source: () => AsyncIterable<Uint8Array>) =>
      Stream.suspend(() =>
        Stream.fromAsyncIterable(
          UrlList.batches(source(), {
            column: Option.getOrUndefined(options.column),
            batchSize: maxUrls,
            isCsv: /\.(csv|tsv)$/i.test(name),
            onColumn,
          }),
          unreadable(name),
        ),
      )
    if (Option.isNone(options.file)) {
      return { batches: read("standard input", () => process.stdin), file: undefined }
    }
    const { value: name } = options.file
    const found = yield* Effect.tryPromise({ try: () => stat(name), catch: unreadable(name) })
    if (found.isDirectory()) return yield* unreadable(name)("it is a folder")
    const batches = read(name, () => createReadStream(name))
    if (!found.isFile()) return { batches, file: undefined }
    const path = yield* Effect.tryPromise({ try: () => realpath(name), catch: unreadable(name) })
    const urls = yield* Stream.runFold(batches, 0, (count, { length }) => count + length)
    return { batches, file: { path, urls } }
  })

const unreadable = (name: string) => (cause: unknown) =>
  new UrlList.UnreadableList({
    message:
      cause instanceof UrlList.UnreadableList
        ? `${name} ${cause.message}`
        : `${name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
  })
