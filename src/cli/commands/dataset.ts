import * as Fs from "node:fs"
import { stat } from "node:fs/promises"
import { pipeline } from "node:stream"
import * as Zlib from "node:zlib"
import { Option } from "commander"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { counted } from "../../contract/counted.ts"
import * as Failure from "../../database/Failure.ts"
import * as RankList from "../../providers/dataset/RankList.ts"
import { Rankings } from "../../providers/dataset/Rankings.ts"
import * as Database from "../Database.ts"
import * as Progress from "../Progress.ts"
import * as Command from "../Command.ts"
import * as MonotonicClock from "../../check/MonotonicClock.ts"

const load = Command.act({
  examples: ["authority dataset import tranco.csv.gz --format tranco --top 100000"],
  declare: (command) =>
    command
      .argument(
        "<FILE>",
        "ranking file, as downloaded from its publisher (plain text, gzip or zip)",
      )
      .addOption(
        new Option("--format <FORMAT>", "publisher of the list")
          .choices(RankList.Format.literals)
          .makeOptionMandatory(),
      )
      .option("--top <N>", "import only the top N names (default: all)"),
  options: Schema.Struct({
    file: Schema.String,
    format: RankList.Format,
    top: Schema.optional(Command.wholeNumber(1, "")),
  }),
  act: ({ file, format, top: limit = Number.POSITIVE_INFINITY }) =>
    Effect.gen(function* () {
      const rankings = yield* Rankings
      const progress = yield* Progress.make({ unit: "rows", isLogged: false, isDrawn: true })
      const startedAt = yield* MonotonicClock.now
      const source = yield* open(file)
      const broken = { count: 0, first: new Array<number>() }
      let rows = 0

      const batches = RankList.read(source.bytes, { format, top: limit }).pipe(
        Stream.mapError((error) =>
          error._tag === "WrongFormat"
            ? new RankList.WrongFormat({ message: `${file}: ${error.message}` })
            : error,
        ),
        Stream.tap((batch) => {
          rows += batch.rows.length
          broken.count += batch.broken.length
          broken.first.push(...batch.broken.slice(0, shownLines - broken.first.length))
          const share = Math.max(rows / limit, source.read() / source.size)
          return progress.show(Math.min(1, share), rows)
        }),
        Stream.map((batch) => batch.rows),
        Stream.onEnd(Effect.suspend(() => (rows === 0 ? new EmptyList({ file }) : Effect.void))),
      )
      yield* rankings.replace(batches, format)

      const seconds = ((yield* MonotonicClock.now) - startedAt) / 1000
      const rowsPerSecond = Math.round(rows / Math.max(seconds, 0.001))
      const { count, first } = broken
      return { format, rows, broken: count, brokenLines: first, seconds, rowsPerSecond }
    }).pipe(
      Effect.scoped,
      Effect.provide(Database.existingOrNew),
      // Before the database is opened, so that an unreadable file does not leave a new one behind.
      (load) => Effect.zipRight(examine(file), load),
    ),
  text: ({ broken, brokenLines, rows, rowsPerSecond, seconds }) => {
    const more = broken > brokenLines.length ? ", …" : ""
    const complaint = ` Skipped ${counted(broken, "broken line")}, at line ${brokenLines.join(", ")}${more}.`
    return `Imported ${counted(rows, "name")} in ${seconds.toFixed(1)} s, ${rowsPerSecond.toLocaleString("en")} a second.${broken === 0 ? "" : complaint}`
  },
})

export const command = Command.group({
  import: ["Import a public ranking; it replaces the previous ranking", load],
})

/** Maximum number of broken lines whose numbers the result lists. */
const shownLines = 10

class UnreadableFile extends Data.TaggedError("UnreadableFile")<{ readonly message: string }> {}

class EmptyList extends Data.TaggedError("EmptyList")<{ readonly file: string }> {
  override get message() {
    return `${this.file} has no valid row, so nothing was imported or deleted; check the file and --format`
  }
}

const unreadable = (file: string) => (cause: unknown) =>
  new UnreadableFile({
    message: `${file} cannot be read: ${Failure.ofFile(cause)}`,
  })

const examine = (file: string) =>
  Effect.gen(function* () {
    const { size } = yield* Effect.tryPromise({ try: () => stat(file), catch: unreadable(file) })
    const packing = yield* Effect.try({ try: () => packingOf(file), catch: unreadable(file) })
    return { size, packing }
  })

// Opens a file, and decompresses it if it is gzip or zip. `size` is the size of the file and `read`
// the number of bytes read so far, both before decompression.
const open = (file: string) =>
  Effect.map(examine(file), ({ packing: { start, unpack }, size }) => {
    const source = Fs.createReadStream(file, { highWaterMark: pieceSize, start })
    const bytes = NodeStream.fromReadable<UnreadableFile, Uint8Array>(() => {
      if (unpack === undefined) return source
      // If one of the streams fails, `pipeline` destroys both. The code that reads from the last
      // stream gets the error, so the callback of `pipeline` has nothing to do.
      return pipeline(source, unpack({ chunkSize: pieceSize }), () => {})
    }, unreadable(file))
    return { size, bytes, read: () => source.bytesRead }
  })

/** Number of bytes that one read returns: about two thousand rows. */
const pieceSize = 64 * 1024

interface Packing {
  /** The offset of the data, in bytes. */
  readonly start: number
  readonly unpack: typeof Zlib.createGunzip | undefined
}

const packingOf = (file: string): Packing => {
  const descriptor = Fs.openSync(file, "r")
  try {
    const head = Buffer.alloc(zipHeadSize)
    Fs.readSync(descriptor, head)
    if (head.readUInt16BE() === 0x1f8b) return { start: 0, unpack: Zlib.createGunzip }
    return head.readUInt32BE() === 0x504b0304 ? zipPacking(head) : { start: 0, unpack: undefined }
  } finally {
    Fs.closeSync(descriptor)
  }
}

/** The size of a file's header in a zip archive, without the name and the extra field. */
const zipHeadSize = 30

// Reads only the first file of the archive.
const zipPacking = (head: Buffer): Packing => {
  const [flags, method] = [head.readUInt16LE(6), head.readUInt16LE(8)]
  if ((flags & 1) !== 0 || method !== 8) {
    throw new Error("the zip archive is encrypted or not compressed by deflate; unzip it first")
  }
  const start = zipHeadSize + head.readUInt16LE(26) + head.readUInt16LE(28)
  return { start, unpack: Zlib.createInflateRaw }
}
