/** Writes the heads of the ledger to a file, and compares the ledger with such a file. */
import { closeSync, createReadStream, openSync, rmSync, writeFileSync } from "node:fs"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { OutputFailed } from "../../lists/OutcomeFile.ts"
import { maxProblems } from "../../ledger/verification/Audit.ts"
import * as Heads from "../../ledger/verification/SqlVerification.ts"
import * as Failure from "../../database/Failure.ts"

class UnreadableHeads extends Data.TaggedError("UnreadableHeads")<{ readonly message: string }> {}

/** Writes a new file with one line for each account. Returns the file's SHA-256 digest. */
export const write = (file: string) =>
  Effect.acquireUseRelease(
    Effect.try({ try: () => openSync(file, "wx"), catch: OutputFailed.of(file) }),
    (descriptor) =>
      Heads.heads.pipe(
        Stream.tap((head) =>
          Effect.try({
            // Writes the whole line or throws: `writeSync` may write a part on a full disk.
            try: () => writeFileSync(descriptor, `${Heads.lineOf(head)}\n`),
            catch: OutputFailed.of(file),
          }),
        ),
        Heads.digest,
        Effect.onError(() => Effect.sync(() => rmSync(file, { force: true }))),
      ),
    (descriptor) => Effect.sync(() => closeSync(descriptor)),
  )

const decode = Schema.decode(Heads.Line)

/** Returns the first 100 problems that show that the ledger does not continue the file's heads. */
export const compare = (file: string) =>
  NodeStream.fromReadable(
    () => createReadStream(file),
    (error) => new UnreadableHeads({ message: `${file} cannot be read: ${Failure.ofFile(error)}` }),
  ).pipe(
    Stream.decodeText("utf8"),
    Stream.splitLines,
    Stream.orElseIfEmptyStream(
      () =>
        new UnreadableHeads({
          message: `${file} is empty, so it proves nothing; name a file that 'authority credits verify --heads' wrote`,
        }),
    ),
    Stream.zipWithIndex,
    Stream.mapEffect(([line, i]) =>
      Effect.mapError(
        decode(line),
        () =>
          new UnreadableHeads({
            message: `${file}: line ${i + 1} is not a head, as 'authority credits verify --heads' writes it`,
          }),
      ),
    ),
    // Version 1.1.0 ended the file with a head of the audit log.
    Stream.filter(([accountId]) => accountId !== "audit"),
    Stream.mapEffect(([accountId, entries, head]) => Heads.problemOf({ accountId, entries, head })),
    Stream.filter((problem) => problem !== undefined),
    Stream.take(maxProblems),
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray),
  )
