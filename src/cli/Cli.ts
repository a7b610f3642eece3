/**
 * Declares the CLI's verbs, such as `serve` and `account create`, and their options. Runs the verb
 * that the arguments name.
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TimeSpan } from "../time/TimeSpan.ts"
import * as Settings from "../Settings.ts"
import * as accounts from "./account.ts"
import * as credit from "./credits.ts"
import * as datasets from "./dataset.ts"
import * as keys from "./key.ts"
import * as OutcomeFormat from "../bulk/OutcomeFormat.ts"
import { decoded, json } from "./options.ts"
import { examples } from "./examples.ts"
import * as CommandLine from "./CommandLine.ts"
import * as Logging from "./Logging.ts"
import { statement } from "./statement.ts"
import * as Stores from "../server/Stores.ts"
import { version } from "./version.ts"

// The modules of a verb are imported when the verb runs, so other verbs and `--help` start faster.
const serve = Command.make("serve", { json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./serve.ts")),
    ({ serve }) => serve(options),
  ),
).pipe(Command.withDescription("Run the service until SIGTERM or SIGINT"))

const openapi = Command.make("openapi", { json }, () =>
  Effect.flatMap(
    Effect.promise(() => import("./openapi.ts")),
    ({ openapi }) => openapi,
  ),
).pipe(Command.withDescription("Print the OpenAPI document of the HTTP API"))

const doctor = Command.make("doctor", { json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./doctor.ts")),
    ({ doctor }) => doctor(options),
  ),
).pipe(Command.withDescription("Check the settings, database, ledger and provider"))

const backup = Command.make(
  "backup",
  {
    file: Args.text({ name: "FILE" }).pipe(
      Args.withDescription("Path for the new copy of the database"),
    ),
    json,
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./backup.ts")),
      ({ backup }) => backup(options),
    ),
).pipe(
  Command.withDescription(
    "Copy a SQLite database, even while the service uses it, and verify the copy",
  ),
)

const restore = Command.make(
  "restore",
  {
    file: Args.text({ name: "FILE" }).pipe(
      Args.withDescription(
        "The file to restore: a backup, or another SQLite database of this program",
      ),
    ),
    json,
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./restore.ts")),
      ({ restore }) => restore(options),
    ),
).pipe(
  Command.withDescription(
    "Replace the SQLite database with a backup, and keep the replaced database",
  ),
)

const HttpUrl = Schema.String.pipe(
  Schema.filter((text) => /^https?:\/\//i.test(text) && URL.canParse(text), {
    message: () => "expected an http or https address",
  }),
)

const check = Command.make(
  "check",
  {
    file: Args.text({ name: "FILE" }).pipe(
      Args.optional,
      Args.withDescription(
        'File with one URL per line, or a CSV file; "-" means stdin (default: stdin)',
      ),
    ),
    key: Options.redacted("key").pipe(
      Options.withPseudoName("KEY"),
      Options.withFallbackConfig(Config.redacted("AUTHORITY_API_KEY")),
      Options.withDescription("API key (default: the environment variable AUTHORITY_API_KEY)"),
    ),
    url: Options.text("url").pipe(
      Options.withPseudoName("URL"),
      Options.mapEffect(decoded("--url", HttpUrl)),
      Options.withDefault("http://127.0.0.1:8080"),
      Options.withDescription("Address of the service (default: http://127.0.0.1:8080)"),
    ),
    column: Options.text("column").pipe(
      Options.withPseudoName("COLUMN"),
      Options.optional,
      Options.withDescription(
        "Header name or number of the CSV column with the URLs (default: the only column with URLs)",
      ),
    ),
    output: Options.text("output").pipe(
      Options.withPseudoName("FILE"),
      Options.optional,
      Options.withDescription("File for the outcome of each URL (default: stdout)"),
    ),
    format: Options.choice("format", OutcomeFormat.names).pipe(
      Options.optional,
      Options.withDescription(
        "Output format: table, csv, json or ndjson (default: from the output file's extension, else table)",
      ),
    ),
    patience: Options.text("patience").pipe(
      Options.withPseudoName("TIME"),
      Options.mapEffect(decoded("--patience", TimeSpan)),
      Options.withDefault(Duration.minutes(2)),
      Options.withDescription("How long to retry while the service fails (default: 2m)"),
    ),
    again: Options.boolean("again").pipe(
      Options.withDescription("Check a finished list once more, and pay for it once more"),
    ),
    json,
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./check.ts")),
      ({ check }) => check(options),
    ),
).pipe(Command.withDescription("Check a list of URLs, of any length, through the HTTP API"))

const withLog = <A, E>(stores: Layer.Layer<A, E, Settings.Settings>) =>
  stores.pipe(Layer.provide(Logging.layer({ stderr: true })), Layer.provide(Settings.layer))

/**
 * Opens the database's stores for a verb of the CLI when the verb runs. The verb fails when the
 * database does not exist.
 */
const needsDatabase = <Name extends string, R, E, A>(verb: Command.Command<Name, R, E, A>) =>
  Command.provide(verb, withLog(Stores.forVerbs))

/**
 * Opens the database's stores for a verb of the CLI when the verb runs. Creates the database when
 * it does not exist.
 */
const createsDatabase = <Name extends string, R, E, A>(verb: Command.Command<Name, R, E, A>) =>
  Command.provide(verb, withLog(Stores.forCreatingVerbs))

const account = Command.make("account").pipe(
  Command.withDescription("Create and list accounts"),
  Command.withSubcommands([createsDatabase(accounts.create), needsDatabase(accounts.list)]),
)

const key = Command.make("key").pipe(
  Command.withDescription("Create, list, rotate and revoke API keys"),
  Command.withSubcommands([
    needsDatabase(keys.create),
    needsDatabase(keys.list),
    needsDatabase(keys.rotate),
    needsDatabase(keys.revoke),
  ]),
)

const credits = Command.make("credits").pipe(
  Command.withDescription("Grant credits, show balances, and verify the ledger"),
  Command.withSubcommands([
    needsDatabase(credit.grant),
    needsDatabase(credit.balance),
    needsDatabase(statement),
    needsDatabase(credit.verify),
  ]),
)

const dataset = Command.make("dataset").pipe(
  Command.withDescription('Data of the provider "dataset"'),
  Command.withSubcommands([
    createsDatabase(datasets.load).pipe(
      // Examine the file before the database is opened, so that an unreadable file does not leave a
      // new database behind.
      Command.provideEffectDiscard(({ file }) => datasets.examine(file)),
    ),
  ]),
)

/**
 * The CLI with all its verbs. This module opens no stores for `serve`, `doctor`, `backup` and
 * `restore`: the modules of these verbs open the database.
 */
export const authority = Command.make("authority").pipe(
  Command.withDescription("Serve and check authority metrics of domains and pages"),
  Command.withSubcommands([
    serve,
    account,
    key,
    credits,
    check,
    dataset,
    doctor,
    backup,
    restore,
    openapi,
  ]),
)

/** Runs the verb that `argv` names. Prints usage errors and fails with WrongUsage. */
export const run = (argv: ReadonlyArray<string>) =>
  // A lone dash means stdin, which is also the default. The parser would reject the dash.
  CommandLine.run(authority, { examples, version })(
    argv.slice(2).filter((word) => word !== "-"),
  ).pipe(Effect.provide(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeTerminal.layer)))
