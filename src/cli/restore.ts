/**
 * Replaces the SQLite database with a backup. Verifies the backup first, and the restored database
 * afterwards.
 */
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from "node:fs"
import { resolve } from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { counted } from "../text/counted.ts"
import * as Settings from "../Settings.ts"
import * as ConnectionString from "../sql/ConnectionString.ts"
import * as Presence from "../sql/Presence.ts"
import * as Sqlite from "../sql/Sqlite.ts"
import * as SqliteRestore from "../sql/SqliteRestore.ts"
import { booksOf } from "./backup.ts"
import * as Logging from "./Logging.ts"
import { print } from "./Output.ts"
import * as Verb from "./Verb.ts"

class RestoreFailed extends Data.TaggedError("RestoreFailed")<{ readonly message: string }> {}

const restore = ({ file, json }: { readonly file: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const { databaseUrl } = yield* Settings.Settings
    const url = Redacted.value(databaseUrl)
    const source = resolve(file)
    if (!url.startsWith("sqlite:")) {
      // When the connection string is invalid, fail with the parser's message.
      yield* ConnectionString.parse(url)
      return yield* new RestoreFailed({ message: lineForPostgres(url, source) })
    }
    const path = Presence.pathOf(url.slice("sqlite:".length))
    if (path === ":memory:") {
      return yield* new RestoreFailed({
        message: "AUTHORITY_DATABASE_URL is an in-memory database; set it to a file",
      })
    }
    const database = existsSync(path) ? realpathSync(path) : path
    yield* refuse(source, database)

    const copy = yield* SqliteRestore.copied(source, database)
    const { accounts, entries } = yield* Sqlite.examine(copy).pipe(
      Effect.zipRight(booksOf(copy)),
      Effect.catchTag(
        "BooksBroken",
        ({ message }) => new RestoreFailed({ message: `${message}; restore another backup` }),
      ),
      Effect.catchTag(
        "NoDatabase",
        () =>
          new RestoreFailed({
            message:
              "the file has no tables of authority-metrics; give the path of a backup of an authority-metrics database",
          }),
      ),
      Effect.mapError(
        ({ message }) => new RestoreFailed({ message: `${source} cannot be restored: ${message}` }),
      ),
    )
    const former = yield* SqliteRestore.replace(copy, database)
    yield* booksOf(database).pipe(
      Effect.mapError(
        ({ message }) =>
          new RestoreFailed({
            message: `${database} was replaced, but its verification failed (${message}); restore another backup${former === undefined ? "" : `, or the old database, which is ${former}`}`,
          }),
      ),
    )
    yield* print(
      json,
      { file: source, database, former: former ?? null, accounts, entries },
      [
        `Restored ${database} from ${source}; ${counted(accounts, "account")} and ${counted(entries, "entry", "entries")} were verified.`,
        ...(former === undefined ? [] : [`The old database is kept as ${former}.`]),
      ].join("\n"),
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.provideMerge(Logging.layer({ stderr: true }), Settings.layer)),
  )

export const verb = Verb.make({
  examples: ["authority restore /var/backups/authority.db"],
  declare: (command) =>
    command.argument("<FILE>", "a backup, or another SQLite database of this program"),
  options: Schema.Struct({ file: Schema.String, json: Verb.json }),
  run: restore,
})

/** Fails when the backup is not a readable file, or is the database that is to be replaced. */
const refuse = (source: string, database: string) =>
  Effect.try({
    try: () => {
      const file = statSync(source)
      if (!file.isFile()) return `${source} is not a file`
      const former = statSync(database, { throwIfNoEntry: false })
      const isSame = file.ino === former?.ino && file.dev === former.dev
      return isSame ? `${source} is the database itself; name a backup of it` : undefined
    },
    catch: (error) =>
      new RestoreFailed({
        message: `${source} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      }),
  }).pipe(
    Effect.flatMap((message) =>
      message === undefined ? Effect.void : new RestoreFailed({ message }),
    ),
  )

/**
 * Returns an error message with the shell command that restores a PostgreSQL backup (an archive or
 * SQL text). The command contains no password: psql or pg_restore asks for the password.
 */
const lineForPostgres = (databaseUrl: string, source: string) => {
  const url = quoted(ConnectionString.shown(databaseUrl))
  const file = quoted(source)
  const line = isSqlText(source)
    ? `psql --single-transaction --set=ON_ERROR_STOP=1 --dbname=${url} --file=${file}`
    : `pg_restore --clean --if-exists --single-transaction --dbname=${url} ${file}`
  return `'authority restore' restores SQLite only; for PostgreSQL stop the service, then run: ${line}`
}

/** Quotes the text as one word for a POSIX shell. */
const quoted = (text: string) =>
  /^[\w.:/@%,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** An archive of pg_dump begins with PGDMP. Without `--format`, pg_dump writes SQL text. */
const isSqlText = (source: string) => {
  if (!statSync(source, { throwIfNoEntry: false })?.isFile()) return false
  const descriptor = openSync(source, "r")
  try {
    const start = Buffer.alloc(5)
    return readSync(descriptor, start) > 0 && start.toString() !== "PGDMP"
  } finally {
    closeSync(descriptor)
  }
}
