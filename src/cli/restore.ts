/** Replaces the SQLite database with a verified copy of a backup. */
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { AuditLog } from "../AuditLog.ts"
import * as Stores from "../server/Stores.ts"
import { counted } from "../text/counted.ts"
import * as Settings from "../Settings.ts"
import * as Presence from "../sql/Presence.ts"
import * as Sqlite from "../sql/Sqlite.ts"
import * as SqliteRestore from "../sql/SqliteRestore.ts"
import { failWithStoreFailure } from "../StoreFailure.ts"
import { booksOf, onFile } from "./backup.ts"
import * as Logging from "./Logging.ts"
import { although, print } from "./Output.ts"
import * as Verb from "./Verb.ts"

class RestoreFailed extends Data.TaggedError("RestoreFailed")<{ readonly message: string }> {}

const restore = ({ file, json }: { readonly file: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const { databaseUrl } = yield* Settings.Settings
    const url = Redacted.value(databaseUrl)
    if (!url.startsWith("sqlite:")) {
      return yield* new RestoreFailed({
        message:
          "AUTHORITY_DATABASE_URL names a PostgreSQL database, but 'authority restore' restores SQLite only; use pg_restore",
      })
    }
    const path = Presence.pathOf(url.slice("sqlite:".length))
    if (path === ":memory:") {
      return yield* new RestoreFailed({
        message: "AUTHORITY_DATABASE_URL is an in-memory database; set it to a file",
      })
    }
    const database = existsSync(path) ? realpathSync(path) : path
    const source = resolve(file)
    if (existsSync(source) && realpathSync(source) === database) {
      return yield* new RestoreFailed({
        message: `${source} is the database itself; name a backup of it`,
      })
    }
    for (const folder of yield* SqliteRestore.leftBy(database)) {
      yield* Console.error(
        `${folder} is the copy of a restore that has not ended; delete it, unless that restore still runs`,
      )
    }
    const { former, verified } = yield* SqliteRestore.restore(source, database, (copy) =>
      Effect.mapError(
        Sqlite.examine(copy).pipe(
          Effect.zipRight(booksOf(copy)),
          Effect.tap(({ heads }) => appendLine(copy, source, heads)),
        ),
        (error) =>
          new RestoreFailed({
            message: `${source} cannot be restored: ${
              error._tag === "NoDatabase" ? "it has no tables of authority-metrics" : error.message
            }`,
          }),
      ),
    )
    const { accounts, entries, heads } = verified
    yield* print(
      json,
      { file: source, database, former: former ?? null, accounts, entries, heads },
      [
        `Restored ${database} from ${source}; ${counted(accounts, "account")} and ${counted(entries, "entry", "entries")} were verified. Its heads have the SHA-256 digest ${heads}.`,
        ...(former === undefined ? [] : [`The old database is kept as ${former}.`]),
      ].join("\n"),
    ).pipe(although("the database is restored"))
  }).pipe(Effect.provide(Layer.provideMerge(Logging.layer({ stderr: true }), Settings.layer)))

/** The line is in the copy, and the log of the replaced database stays with that database. */
const appendLine = (copy: string, source: string, heads: string) =>
  Effect.flatMap(AuditLog, ({ append }) =>
    append({ action: "database.restore", subject: source, detail: { heads } }),
  ).pipe(Effect.provide(Stores.forVerbs), onFile(copy), failWithStoreFailure)

export const verb = Verb.make({
  examples: ["authority restore /var/backups/authority.db"],
  declare: (command) =>
    command.argument("<FILE>", "a backup, or another SQLite database of this program"),
  options: Schema.Struct({ file: Schema.String, json: Verb.json }),
  run: restore,
})
