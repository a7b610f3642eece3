/**
 * The store of answers for `authority check`: one SQLite file, which several runs may have open.
 */
import { chmodSync, closeSync, openSync } from "node:fs"
import { uptime } from "node:os"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import { v4 as uuid } from "uuid"
import * as v from "valibot"
import * as Failure from "../database/Failure.ts"
import { naming } from "../database/rows/dialects.ts"
import { type Answers, untaken } from "./Answers.ts"
import { Answer, Batch } from "./answerRows.ts"
import { refuseLink } from "./OutcomeFile.ts"

export class AnswersFailed extends Data.TaggedError("AnswersFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * Opens the file or creates it, until the scope closes. Only its user can read it. Fails with
 * AnswersFailed when the file is damaged or not writable; so do the store's methods.
 */
export const open = (filename: string): Effect.Effect<Answers, AnswersFailed, Scope.Scope> =>
  Effect.map(Effect.mapError(opened(filename), failure(filename)), (sql) => {
    const promise = async <A>(effect: Effect.Effect<A, unknown>): Promise<A> =>
      Either.getOrThrowWith(
        await Effect.runPromise(Effect.either(Effect.catchAllDefect(effect, Effect.fail))),
        failure(filename),
      )
    const answersOf = (service: string, account: string, names: ReadonlyArray<string>) => {
      const asked = JSON.stringify(names)
      const theirs = sql`service = ${service} AND account = ${account}`
      return Effect.map(
        // With OR or without INDEXED BY, SQLite would read all answers of the account.
        sql`
          SELECT text FROM answers
          WHERE ${theirs} AND target IN (SELECT value FROM json_each(${asked})) UNION
          SELECT text FROM answers INDEXED BY answers_by_url
          WHERE ${theirs} AND url IN (SELECT value FROM json_each(${asked}))`,
        textsOf(Answer),
      )
    }
    const pendingOf = (service: string, account: string) =>
      Effect.map(
        sql`SELECT text FROM pending WHERE service = ${service} AND account = ${account}`,
        textsOf(Batch),
      )
    const atWork = new Set<string>()
    return {
      find: ({ account, service }, names) => promise(answersOf(service, account, names)),
      pending: ({ account, service }) => promise(pendingOf(service, account)),
      take: ({ account, service }, batch, isUsable) =>
        promise(
          Effect.gen(function* () {
            const { key, owner } = batch
            // Deletes nothing, but takes the write lock at the start of the transaction, so that it
            // waits for others instead of failing.
            yield* sql`DELETE FROM pending WHERE key = ${key}`
            const targets = batch.items.map(({ target }) => target)
            const answers = yield* answersOf(service, account, targets)
            const pending = yield* pendingOf(service, account)
            const taken = untaken(batch, { answers, pending, isUsable })
            if (taken === undefined) return undefined
            const row = { key, service, account, owner, text: JSON.stringify(taken) }
            yield* sql`INSERT INTO pending ${sql.insert(row)}`
            return taken
          }).pipe(sql.withTransaction),
        ),
      replace: (_, { key, owner }, next) => {
        const same = sql`key = ${key} AND owner = ${owner} RETURNING key`
        const done =
          next === undefined
            ? sql`DELETE FROM pending WHERE ${same}`
            : sql`UPDATE pending SET ${sql.update({ key: next.key, owner: next.owner, text: JSON.stringify(next) })}
                WHERE ${same}`
        return promise(Effect.map(done, (rows) => rows.length > 0))
      },
      keep: ({ account, service }, key, answers) =>
        promise(
          Effect.gen(function* () {
            yield* sql`DELETE FROM pending WHERE key = ${key}`
            const rows = answers.map((answer) => ({
              service,
              account,
              target: answer.target,
              url: answer.outcome.url,
              at: answer.at,
              text: JSON.stringify(answer),
            }))
            if (rows.length > 0)
              yield* sql`INSERT INTO answers ${sql.insert(rows)}
                ON CONFLICT DO UPDATE SET url = excluded.url, at = excluded.at, text = excluded.text
                WHERE excluded.at >= at`
          }).pipe(sql.withTransaction),
        ),
      enter: async () => {
        const owner = `${process.pid} ${Date.now()} ${uuid()}`
        atWork.add(owner)
        return { owner, leave: () => void atWork.delete(owner) }
      },
      isAtWork: async (owner) => atWork.has(owner) || isOfProcess(owner),
    }
  })

/** True for a run in another process on this machine that has not ended. */
const isOfProcess = (owner: string) => {
  const [pid = 0, enteredAt = 0] = owner.split(" ").map(Number)
  if (pid === process.pid || enteredAt < Date.now() - uptime() * 1000) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return Failure.codeOf(error) === "EPERM"
  }
}

const opened = (filename: string) =>
  Effect.gen(function* () {
    yield* Effect.try(() => {
      refuseLink(filename)
      closeSync(openSync(filename, "a", 0o600))
      chmodSync(filename, 0o600)
    })
    const sql = yield* SqliteClient.make({ filename, disableWAL: true, ...naming })
    yield* sql`PRAGMA busy_timeout = 10000`
    yield* sql`PRAGMA journal_mode = WAL`
    // A power failure must not lose answers that were paid for.
    yield* sql`PRAGMA synchronous = FULL`
    yield* sql`CREATE TABLE IF NOT EXISTS answers (
      service TEXT NOT NULL,
      account TEXT NOT NULL,
      target TEXT NOT NULL,
      url TEXT NOT NULL,
      at INTEGER NOT NULL,
      text TEXT NOT NULL,
      PRIMARY KEY (service, account, target)
    ) WITHOUT ROWID`
    yield* sql`CREATE INDEX IF NOT EXISTS answers_by_url ON answers (service, account, url)`
    yield* sql`CREATE TABLE IF NOT EXISTS pending (
      key TEXT PRIMARY KEY,
      service TEXT NOT NULL,
      account TEXT NOT NULL,
      owner TEXT NOT NULL,
      text TEXT NOT NULL
    )`
    return sql
    // The SQLite client dies when it cannot open the file. Turns this defect into a typed error.
  }).pipe(Effect.catchAllDefect(Effect.fail), Effect.provide(Reactivity.layer))

/** Makes a decoder of rows whose column `text` is the JSON of a value. Dies when it is invalid. */
const textsOf = <A>(schema: v.GenericSchema<unknown, A>) => {
  const rows = v.array(v.object({ text: v.pipe(v.string(), v.parseJson(), schema) }))
  return (found: unknown) => v.parse(rows, found).map(({ text }) => text)
}

const failure =
  (filename: string) =>
  (error: unknown): AnswersFailed => {
    const code = v.isValiError(error) ? "SQLITE_CORRUPT" : Failure.codeOf(error)
    const [, problem = Failure.wordsOf(error)] =
      problems.find(([pattern]) => pattern.test(code)) ?? []
    return new AnswersFailed({ message: `the answers in ${filename}: ${problem}`, cause: error })
  }

/** The problem and its remedy, by SQLite's result code. */
const problems: ReadonlyArray<readonly [pattern: RegExp, problem: string]> = [
  [/^SQLITE_(BUSY|LOCKED)/, "another program keeps the file locked; end that program"],
  [/^SQLITE_FULL/, "the disk is full; free some space"],
  [/^SQLITE_(NOTADB|CORRUPT|ERROR)/, "the file is damaged, or has no answers; move it away"],
  [
    /^(SQLITE_(CANTOPEN|READONLY)|EACCES|ENOENT|EISDIR|EROFS)/,
    "it cannot be written; check the permissions of its folder, or name another file with --answers",
  ],
]
