import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { CheckJournal, type JournalFailed } from "../../src/bulk/CheckJournal.ts"
import * as SqlCheckJournal from "../../src/sql/CheckJournal.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "authority-test-journal-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true })),
)

const open = (filename: string, options?: { readonly again: boolean }) =>
  Effect.map(Layer.build(SqlCheckJournal.layer(filename, options)), (context) =>
    Context.get(context, CheckJournal),
  )

/** Opens a journal, runs `act`, and closes the journal, as one run does. */
const during = <A>(
  filename: string,
  act: (journal: CheckJournal["Type"]) => Effect.Effect<A, JournalFailed>,
  options?: { readonly again: boolean },
) => Effect.scoped(Effect.flatMap(open(filename, options), act))

const answer = {
  results: [
    {
      domainAuthority: 50,
      pageAuthority: 29.5,
      spamScore: 4,
      provenance: {
        provider: "moz",
        source: "known",
        fetchedAt: "2026-11-01T08:30:00.000Z",
        ageSeconds: 60,
        index: null,
        of: "example.com",
      },
    },
    { domainAuthority: 1, pageAuthority: 2 },
    { reason: "INVALID_URL", cause: "invalid", detail: "it is empty" },
  ],
  creditsUsed: 2,
} as const

describe("the journal of a bulk check", () => {
  it.scoped(
    "after the journal of a bulk check is reopened, it has the same run id and the same answers as before",
    () =>
      Effect.gen(function* () {
        const filename = join(yield* folder, "list.journal")
        yield* TestClock.setTime(1000)
        const runId = yield* during(filename, (journal) =>
          Effect.gen(function* () {
            assert.deepStrictEqual([journal.startedAt, journal.answered], [1000, 0])
            assert.strictEqual(yield* journal.find(0), undefined)
            yield* journal.sending(0, "zero")
            yield* journal.sending(1, "one")
            yield* journal.keep(0, answer)
            return journal.runId
          }),
        )
        yield* TestClock.setTime(5000)
        yield* during(filename, (journal) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(
              [journal.runId, journal.startedAt, journal.answered, yield* journal.size],
              [runId, 1000, 1, 2],
            )
            assert.deepStrictEqual(yield* journal.find(0), { fingerprint: "zero", answer })
            assert.deepStrictEqual(yield* journal.find(1), {
              fingerprint: "one",
              answer: undefined,
            })
          }),
        )
      }),
  )

  it.scoped("the answers in a journal of version 1.0.0 are read", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "list.journal")
      yield* during(filename, (journal) => journal.sending(0, "zero"))
      const database = new DatabaseSync(filename)
      const results = '[[50,29.5,4],[1,2],"INVALID_URL"]'
      database.prepare("UPDATE batches SET results = ?, credits_used = 2").run(results)
      database.close()
      const entry = yield* during(filename, (journal) => journal.find(0))
      assert.deepStrictEqual(entry?.answer?.results, [
        { domainAuthority: 50, pageAuthority: 29.5, spamScore: 4 },
        { domainAuthority: 1, pageAuthority: 2 },
        { reason: "INVALID_URL" },
      ])
    }),
  )

  it.scoped("the journal of a bulk check counts unanswered batches sent before a given time", () =>
    Effect.gen(function* () {
      const journal = yield* open(join(yield* folder, "list.journal"))
      yield* TestClock.setTime(1000)
      yield* journal.sending(0, "zero")
      yield* journal.sending(1, "one")
      yield* journal.keep(0, answer)
      yield* TestClock.setTime(2000)
      yield* journal.sending(1, "one")
      yield* journal.sending(2, "two")
      assert.strictEqual(yield* journal.unansweredSince(1000), 0)
      assert.strictEqual(yield* journal.unansweredSince(1001), 1)
      assert.strictEqual(yield* journal.unansweredSince(2001), 2)
    }),
  )

  it.scoped("the journal of a bulk check keeps a finished run until --again starts a new run", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "list.journal")
      const again = { again: true }
      const runId = yield* during(filename, (journal) =>
        Effect.gen(function* () {
          yield* journal.sending(0, "zero")
          yield* journal.keep(0, answer)
          return journal.runId
        }),
      )
      yield* TestClock.setTime(2000)
      const unfinished = (journal: CheckJournal["Type"]) =>
        Effect.gen(function* () {
          assert.deepStrictEqual([journal.runId, journal.finishedAt], [runId, undefined])
          yield* journal.finish
        })
      yield* during(filename, unfinished, again)
      yield* during(filename, (journal) =>
        Effect.gen(function* () {
          assert.deepStrictEqual([journal.runId, journal.finishedAt], [runId, 2000])
          assert.deepStrictEqual(yield* journal.find(0), { fingerprint: "zero", answer })
        }),
      )
      const fresh = (journal: CheckJournal["Type"]) =>
        Effect.gen(function* () {
          assert.notStrictEqual(journal.runId, runId)
          assert.deepStrictEqual([journal.finishedAt, yield* journal.size], [undefined, 0])
        })
      yield* during(filename, fresh, again)
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
