import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { type CheckJournal, JournalFailed } from "../../src/bulk/CheckJournal.ts"
import type { Batch } from "../../src/run/Journal.ts"
import { open } from "../../src/sql/CheckJournal.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "authority-test-journal-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true })),
)

/** Opens a journal, runs `act`, and closes the journal, as one run does. */
const during = <A>(filename: string, act: (journal: CheckJournal) => Promise<A>) =>
  Effect.scoped(Effect.flatMap(open(filename), (journal) => Effect.promise(() => act(journal))))

const sent: Batch = {
  key: "1",
  items: [
    { url: "EXAMPLE.com", target: "example.com" },
    { url: "b.com", target: "b.com" },
  ],
  sentAt: 1000,
  provenance: true,
}
const answered: Batch = {
  ...sent,
  answer: {
    outcomes: [
      { url: "EXAMPLE.com", domainAuthority: 50, pageAuthority: 29.5, spamScore: 4 },
      { url: "b.com", reason: "PROVIDER_ERROR", cause: "failed", detail: "It failed." },
    ],
    creditsUsed: 1,
    answeredAt: 2000,
  },
}
const entries = [
  { url: "EXAMPLE.com", target: "example.com" },
  { url: "localhost", problem: "its host is not public" },
]

describe("the journal of a bulk check", () => {
  it.scoped("after the journal of a bulk check is reopened, it has what it had before", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "list.journal")
      yield* during(filename, async (journal) => {
        await journal.keepEntries(entries)
        await journal.keepEntries(entries)
        await journal.keepBatch(sent)
        await journal.keepBatch({ ...sent, key: "2" })
        await journal.keepBatch({ ...sent, key: "3" })
        await journal.keepBatch(answered)
        await journal.removeBatch("3")
      })
      const kept = yield* during(filename, (journal) => journal.read())
      assert.deepStrictEqual(kept, { entries, batches: [answered, { ...sent, key: "2" }] })
    }),
  )

  it.scoped("the journal of a bulk check is finished until another batch is sent", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "list.journal")
      yield* TestClock.setTime(2000)
      yield* during(filename, async (journal) => {
        await journal.keepBatch(answered)
        assert.strictEqual(await journal.finishedAt(), undefined)
        await journal.finish()
      })
      yield* during(filename, async (journal) => {
        assert.isNumber(await journal.finishedAt())
        await journal.keepBatch({ ...sent, key: "2" })
        assert.strictEqual(await journal.finishedAt(), undefined)
        await journal.clear()
        assert.deepStrictEqual((await journal.read()).batches, [])
      })
    }),
  )

  it.scoped("a journal with a batch that cannot be read is damaged", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "list.journal")
      yield* during(filename, (journal) => journal.keepBatch(sent))
      const file = new DatabaseSync(filename)
      file.exec("UPDATE sent SET text = '{}'")
      file.close()
      const error = yield* during(filename, (journal) =>
        journal.read().catch((error: unknown) => error),
      )
      assert.instanceOf(error, JournalFailed)
      assert.match(
        error.message,
        /list\.journal: the file is damaged, or is not a journal; move it away$/,
      )
    }),
  )

  it.scoped("the journal of a bulk check can be opened by only one run at a time", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "list.journal")
      yield* open(filename)
      const { message } = yield* Effect.flip(Effect.scoped(open(filename)))
      assert.match(message, /list\.journal: another run is using the journal/)
    }),
  )

  it.scoped(
    "a bulk check rejects a journal path if the file is not a journal, or if its folder does not exist",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const other = join(cwd, "notes.journal")
        writeFileSync(other, "These are notes, and there are enough of them to tell.".repeat(20))
        const foreign = yield* Effect.flip(Effect.scoped(open(other)))
        assert.match(foreign.message, /notes\.journal: the file is damaged, or is not a journal/)
        const nowhere = yield* Effect.flip(Effect.scoped(open(join(cwd, "no", "list.journal"))))
        assert.match(nowhere.message, /list\.journal: /)
      }),
  )
})
