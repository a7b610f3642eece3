/** Copies the database while it serves, and examines the copy. */
import { existsSync } from "node:fs"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { CreditLedger } from "../CreditLedger.ts"
import * as Settings from "../Settings.ts"
import * as Sqlite from "../sql/Sqlite.ts"
import * as Logging from "./Logging.ts"
import { print } from "./Output.ts"
import * as Stores from "./Stores.ts"

class BackupFailed extends Data.TaggedError("BackupFailed")<{ readonly message: string }> {}

export const backup = ({ file, json }: { readonly file: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const url = Redacted.value(settings.databaseUrl)
    if (!url.startsWith("sqlite:")) {
      return yield* new BackupFailed({ message: "PostgreSQL brings its own: use pg_dump" })
    }
    const source = url.slice("sqlite:".length)
    if (!existsSync(source)) {
      return yield* new BackupFailed({
        message: `there is no database at ${source}: check AUTHORITY_DATABASE_URL`,
      })
    }
    if (existsSync(file)) {
      return yield* new BackupFailed({ message: `${file} exists already: name another file` })
    }
    yield* Sqlite.backup(source, file)
    const copy = { ...settings, databaseUrl: Redacted.make(`sqlite:${file}`) }
    const { accounts, entries, problems } = yield* verified.pipe(
      Effect.provideService(Settings.Settings, copy),
    )
    if (problems.length > 0) {
      return yield* new BackupFailed({
        message: `the copy was made, and its books do not add up: ${problems.join("; ")}`,
      })
    }
    yield* print(
      json,
      { file, accounts, entries },
      `Copied the database to ${file}; ${accounts} accounts and ${entries} entries add up.`,
    )
  }).pipe(Effect.provide(Layer.provideMerge(Logging.layer({ stderr: true }), Settings.layer)))

const verified = Effect.flatMap(CreditLedger, (ledger) => ledger.verify).pipe(
  Effect.provide(Stores.layer),
)
