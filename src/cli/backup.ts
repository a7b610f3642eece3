/** Copies a SQLite database while it is in use, and verifies the copy. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { counted } from "../text/counted.ts"
import * as Heads from "../ledger/SqlVerification.ts"
import * as Settings from "../Settings.ts"
import * as Sqlite from "../sql/Sqlite.ts"
import { failWithStoreFailure } from "../StoreFailure.ts"
import * as Logging from "./Logging.ts"
import { although, print } from "./Output.ts"
import * as Stores from "../server/Stores.ts"
import * as Verb from "./Verb.ts"

class BackupFailed extends Data.TaggedError("BackupFailed")<{ readonly message: string }> {}

const backup = ({ file, json }: { readonly file: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const { databaseUrl } = yield* Settings.Settings
    const url = Redacted.value(databaseUrl)
    if (!url.startsWith("sqlite:")) {
      return yield* new BackupFailed({
        message:
          "AUTHORITY_DATABASE_URL names a PostgreSQL database, but 'authority backup' copies SQLite only; use pg_dump",
      })
    }
    yield* Sqlite.backup(url.slice("sqlite:".length), file)
    const { accounts, entries, heads } = yield* booksOf(file).pipe(
      Effect.tapErrorTag("StoreFailure", () => Sqlite.remove(file)),
      Effect.mapError(
        ({ message }) =>
          new BackupFailed({ message: `the copy ${file} could not be verified: ${message}` }),
      ),
    )
    yield* print(
      json,
      { file, accounts, entries, heads },
      `Copied the database to ${file}; ${counted(accounts, "account")} and ${counted(entries, "entry", "entries")} were verified. Its heads have the SHA-256 digest ${heads}.`,
    ).pipe(although("the copy is made"))
  }).pipe(Effect.provide(Layer.provideMerge(Logging.layer({ stderr: true }), Settings.layer)))

export const verb = Verb.make({
  examples: ["authority backup /var/backups/authority.db"],
  declare: (command) => command.argument("<FILE>", "path for the new copy of the database"),
  options: Schema.Struct({ file: Schema.String, json: Verb.json }),
  run: backup,
})

const verify = Effect.flatMap(CreditLedger, (ledger) => ledger.verify)

class BooksBroken extends Data.TaggedError("BooksBroken")<{ readonly message: string }> {}

/**
 * Verifies the ledger in a copy of a SQLite file, and returns the digest of its heads. Before that,
 * migrates the copy.
 */
export const booksOf = (file: string) =>
  Effect.gen(function* () {
    const [{ accounts, entries, problems }, { digest }] = yield* Stores.migrate.pipe(
      Effect.zipRight(
        Effect.provide(Effect.all([verify, Heads.digest(Heads.heads)]), Stores.forVerbs),
      ),
      onFile(file),
    )
    if (problems.length > 0) {
      return yield* new BooksBroken({
        message: `the ledger in this file has errors: ${problems.join("; ")}`,
      })
    }
    return { accounts, entries, heads: digest }
  }).pipe(failWithStoreFailure)

/** Uses a SQLite file in place of the database of the settings. */
export const onFile =
  (file: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Settings.Settings, (settings) =>
      Effect.provideService(effect, Settings.Settings, {
        ...settings,
        databaseUrl: Redacted.make(`sqlite:${file}`),
      }),
    )
