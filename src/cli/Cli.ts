/** The verbs. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TimeSpan } from "../TimeSpan.ts"
import { account } from "./account.ts"
import { credits } from "./credits.ts"
import { dataset } from "./dataset.ts"
import { key } from "./key.ts"
import * as OutcomeFormat from "../bulk/OutcomeFormat.ts"
import { json } from "./options.ts"
import { WrongUsage } from "./ExitStatus.ts"
import { version } from "./version.ts"

// What a verb alone needs is imported when it runs: no other verb, nor `--help`, waits for it.
const serve = Command.make("serve", { json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./serve.ts")),
    ({ serve }) => serve(options),
  ),
).pipe(Command.withDescription("Answer requests until a signal ends it"))

const openapi = Command.make("openapi", { json }, () =>
  Effect.flatMap(
    Effect.promise(() => import("./openapi.ts")),
    ({ openapi }) => openapi,
  ),
).pipe(Command.withDescription("Print the OpenAPI document of the interface"))

const doctor = Command.make("doctor", { json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./doctor.ts")),
    ({ doctor }) => doctor(options),
  ),
).pipe(Command.withDescription("Examine settings, database, ledger and provider"))

const backup = Command.make("backup", { file: Args.text({ name: "FILE" }), json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./backup.ts")),
    ({ backup }) => backup(options),
  ),
).pipe(Command.withDescription("Copy a SQLite database while it serves, and examine the copy"))

const restore = Command.make(
  "restore",
  {
    file: Args.text({ name: "FILE" }).pipe(
      Args.withDescription("A backup, or another SQLite database of this program"),
    ),
    json,
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./restore.ts")),
      ({ restore }) => restore(options),
    ),
).pipe(
  Command.withDescription("Put a backup in the place of the SQLite database, and keep the former"),
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
      Args.withDescription("One URL a line; without it, or as -, standard input"),
    ),
    key: Options.redacted("key").pipe(
      Options.withFallbackConfig(Config.redacted("AUTHORITY_API_KEY")),
      Options.withDescription("The API key; better in AUTHORITY_API_KEY, for `ps` shows arguments"),
    ),
    url: Options.text("url").pipe(
      Options.withSchema(HttpUrl),
      Options.withDefault("http://127.0.0.1:8080"),
      Options.withDescription("Where the service is"),
    ),
    column: Options.text("column").pipe(
      Options.optional,
      Options.withDescription("Reads a CSV: the column's name in the first row, or its number"),
    ),
    output: Options.text("output").pipe(
      Options.withPseudoName("FILE"),
      Options.optional,
      Options.withDescription("Where the outcomes go; without it, to stdout"),
    ),
    format: Options.choice("format", OutcomeFormat.names).pipe(
      Options.optional,
      Options.withDescription("Without it, by the end of the output's name, or a table"),
    ),
    patience: Options.text("patience").pipe(
      Options.withSchema(TimeSpan),
      Options.withDefault(Duration.minutes(2)),
      Options.withDescription("How long the service may keep failing, 2m without it"),
    ),
    json,
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./check.ts")),
      ({ check }) => check(options),
    ),
).pipe(Command.withDescription("Check a list of any length through the interface"))

const authority = Command.make("authority").pipe(
  Command.withDescription("How authoritative are these domains and pages?"),
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

/** Runs the verb that the arguments name; wrong usage is told by the parser. */
export const run = (argv: ReadonlyArray<string>) =>
  // The parser takes a lone dash for an option; it is standard input, as to name no file is.
  Command.run(authority, { name: "authority", version })(argv.filter((word) => word !== "-")).pipe(
    Effect.mapError((error) =>
      ValidationError.isValidationError(error) ? new WrongUsage() : error,
    ),
    Effect.provide(CliConfig.layer({ showBuiltIns: false, showTypes: false })),
    Effect.provide(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeTerminal.layer)),
  )
