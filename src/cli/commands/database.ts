/** Migrates the database. Backs up, verifies and restores a SQLite database, even one in use. */
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { AuditLog } from "../../accounts/AuditLog.ts"
import { counted } from "../../contract/counted.ts"
import { newest } from "../../database/migrations/migrate.ts"
import * as Presence from "../../database/Presence.ts"
import * as Sqlite from "../../database/Sqlite.ts"
import { failWithStoreFailure } from "../../database/StoreFailure.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import * as Heads from "../../ledger/verification/SqlVerification.ts"
import * as Stores from "../../server/Stores.ts"
import * as Settings from "../../Settings.ts"
import * as Database from "../Database.ts"
import * as Command from "../Command.ts"

export const migrate = Command.act({
  examples: ["authority migrate"],
  options: Schema.Struct({}),
  act: () =>
    Stores.migrate.pipe(
      Effect.map((from) => ({ from, to: newest })),
      Effect.provide(Database.settings),
    ),
  text: ({ from }) =>
    from === newest
      ? `The database already has schema ${newest}.`
      : `Migrated the database from schema ${from} to schema ${newest}.`,
  ifLost: () => ", although the database is migrated",
})

class CannotCopy extends Data.TaggedError("CannotCopy")<{ readonly message: string }> {}

/** The path of the SQLite database that the settings name. Fails if they name PostgreSQL. */
const sqliteFile = (instead: string) =>
  Effect.flatMap(Settings.Settings, ({ databaseUrl }) => {
    const url = Redacted.value(databaseUrl)
    return url.startsWith("sqlite:")
      ? Effect.succeed(url.slice("sqlite:".length))
      : new CannotCopy({
          message: `AUTHORITY_DATABASE_URL names a PostgreSQL database, but ${instead}`,
        })
  })

const textOf = ({ accounts, entries, heads }: Effect.Effect.Success<ReturnType<typeof booksOf>>) =>
  `${counted(accounts, "account")} and ${counted(entries, "entry", "entries")} were verified. Its heads have the SHA-256 digest ${heads}.`

export const backup = Command.act({
  examples: ["authority backup /var/backups/authority.db"],
  declare: (command) => command.argument("<FILE>", "path for the new copy of the database"),
  options: Schema.Struct({ file: Schema.String }),
  act: ({ file }) =>
    Effect.gen(function* () {
      const database = yield* sqliteFile("'authority backup' copies SQLite only; use pg_dump")
      yield* Sqlite.backup(database, file)
      const books = yield* booksOf(file).pipe(
        Effect.tapErrorTag("StoreFailure", () => Sqlite.remove(file)),
        Effect.mapError(
          ({ message }) =>
            new CannotCopy({ message: `the copy ${file} could not be verified: ${message}` }),
        ),
      )
      return { file, ...books }
    }).pipe(Effect.provide(Database.settings)),
  text: ({ file, ...books }) => `Copied the database to ${file}; ${textOf(books)}`,
  ifLost: () => ", although the copy is made",
})

/** Replaces the database with a verified copy of a backup, and keeps the replaced database. */
export const restore = Command.act({
  examples: ["authority restore /var/backups/authority.db"],
  declare: (command) =>
    command.argument("<FILE>", "a backup, or another SQLite database of this program"),
  options: Schema.Struct({ file: Schema.String }),
  act: ({ file }) =>
    Effect.gen(function* () {
      const path = Presence.pathOf(
        yield* sqliteFile("'authority restore' restores SQLite only; use pg_restore"),
      )
      if (path === ":memory:") {
        return yield* new CannotCopy({
          message: "AUTHORITY_DATABASE_URL is an in-memory database; set it to a file",
        })
      }
      const database = existsSync(path) ? realpathSync(path) : path
      const source = resolve(file)
      if (existsSync(source) && realpathSync(source) === database) {
        return yield* new CannotCopy({
          message: `${source} is the database itself; name a backup of it`,
        })
      }
      for (const folder of yield* Sqlite.leftBy(database)) {
        yield* Console.error(
          `${folder} is the copy of a restore that has not ended; delete it, unless that restore still runs`,
        )
      }
      const { former, verified } = yield* Sqlite.restore(source, database, (copy) =>
        Effect.mapError(
          Sqlite.examine(copy).pipe(
            Effect.zipRight(booksOf(copy)),
            Effect.tap(({ heads }) => appendLine(copy, source, heads)),
          ),
          (error) =>
            new CannotCopy({
              message: `${source} cannot be restored: ${
                error._tag === "NoDatabase"
                  ? "it has no tables of authority-metrics"
                  : error.message
              }`,
            }),
        ),
      )
      return { file: source, database, former: former ?? null, ...verified }
    }).pipe(Effect.provide(Database.settings)),
  text: ({ database, file, former, ...books }) =>
    `Restored ${database} from ${file}; ${textOf(books)}` +
    (former === null ? "" : `\nThe old database is kept as ${former}.`),
  ifLost: () => ", although the database is restored",
})

/** Records the restore in the audit log of the copy; the replaced database keeps its own log. */
const appendLine = (copy: string, source: string, heads: string) =>
  Effect.flatMap(AuditLog, ({ append }) =>
    append({ action: "database.restore", subject: source, detail: { heads } }),
  ).pipe(Effect.provide(Stores.forCommands), onFile(copy), failWithStoreFailure)

const verify = Effect.flatMap(CreditLedger, (ledger) => ledger.verify)

/** Migrates a copy of a SQLite file, verifies its ledger, and returns the digest of its heads. */
const booksOf = (file: string) =>
  Effect.gen(function* () {
    const [{ accounts, entries, problems }, { digest }] = yield* Stores.migrate.pipe(
      Effect.zipRight(
        Effect.provide(Effect.all([verify, Heads.digest(Heads.heads)]), Stores.forCommands),
      ),
      onFile(file),
    )
    if (problems.length > 0) {
      return yield* new CannotCopy({
        message: `the ledger in this file has errors: ${problems.join("; ")}`,
      })
    }
    return { accounts, entries, heads: digest }
  }).pipe(failWithStoreFailure)

/** Runs an effect on a SQLite file instead of the database that the settings name. */
const onFile =
  (file: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Settings.Settings, (settings) =>
      Effect.provideService(effect, Settings.Settings, {
        ...settings,
        databaseUrl: Redacted.make(`sqlite:${file}`),
      }),
    )
