/** The verbs. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as CliConfig from "@effect/cli/CliConfig"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { account } from "./account.ts"
import { credits } from "./credits.ts"
import { dataset } from "./dataset.ts"
import { key } from "./key.ts"
import { json } from "./options.ts"
import { WrongUsage } from "./Shell.ts"
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

const authority = Command.make("authority").pipe(
  Command.withDescription("How authoritative are these domains and pages?"),
  Command.withSubcommands([serve, account, key, credits, dataset, doctor, backup, openapi]),
)

/** Runs the verb that the arguments name; wrong usage is told by the parser. */
export const run = (argv: ReadonlyArray<string>) =>
  Command.run(authority, { name: "authority", version })(argv).pipe(
    Effect.mapError((error) =>
      ValidationError.isValidationError(error) ? new WrongUsage() : error,
    ),
    Effect.provide(CliConfig.layer({ showBuiltIns: false, showTypes: false })),
    Effect.provide(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeTerminal.layer)),
  )
