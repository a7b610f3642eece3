/** Declares a command, such as `account create`: commander parses it, and a schema decodes it. */
import { type Command as Parser, Option } from "commander"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Parameter from "../contract/Parameter.ts"
import { Credits } from "../ledger/Credits.ts"
import * as Database from "./Database.ts"
import { print } from "./Output.ts"

type Program = Effect.Effect<void, Error>

/**
 * Adds arguments, options and help to commander's command. When commander has parsed a command
 * line, `choose` receives the program to run.
 */
export type Command = (command: Parser, choose: (program: Program) => void) => void

interface Declaration<A, I> {
  readonly examples: ReadonlyArray<string>
  readonly declare?: (command: Parser) => Parser
  /** Decodes the options, named in camelCase, and the arguments, named in lower case. */
  readonly options: Schema.Schema<A, I>
  readonly run: (options: A, json: boolean) => Program
}

export const make =
  <A, I>({ declare, examples, options, run }: Declaration<A, I>): Command =>
  (command, choose) => {
    declare?.(command)
    command
      .option("--json", "print one JSON document on stdout, and nothing else")
      .addHelpText("after", ["", "Example:", ...examples.map((line) => `  ${line}`)].join("\n"))
      .action(() =>
        Either.match(Schema.decodeUnknownEither(options)(valuesOf(command)), {
          onLeft: (error) => command.error(messageOf(command, error)),
          onRight: (decoded) => {
            const { format, json } = command.opts()
            choose(run(decoded, json === true || format === "json"))
          },
        }),
      )
  }

interface Act<A, I, Document, R> extends Omit<Declaration<A, I>, "run"> {
  readonly act: (options: A) => Effect.Effect<Document, Error, R>
  readonly text: (document: Document, options: A) => string
  /** What to add to the error if the act succeeded but its document could not be printed. */
  readonly ifLost?: (document: Document) => string
  /** Makes the command fail after the document has been printed. */
  readonly failure?: (document: Document) => Error | undefined
}

/** A command that does one act, and prints the document of the act. */
export const act = <A, I, Document extends object>({
  act,
  failure = () => undefined,
  ifLost = () => "",
  text,
  ...declaration
}: Act<A, I, Document, never>): Command =>
  make({
    ...declaration,
    run: (options, json) =>
      Effect.gen(function* () {
        const document = yield* act(options)
        yield* print(json, document, text(document, options), ifLost(document))
        const error = failure(document)
        if (error !== undefined) return yield* Effect.fail(error)
      }),
  })

/** A command that does one act on the database, which must exist unless `stores` creates it. */
export const onDatabase = <A, I, Document extends object>({
  act: acting,
  stores = Database.existing,
  ...declaration
}: Act<A, I, Document, Database.Services> & { readonly stores?: typeof Database.existingOrNew }) =>
  act({ ...declaration, act: (options) => Effect.provide(acting(options), stores) })

/** A command that only groups subcommands. */
export const group =
  (parts: Readonly<Record<string, readonly [description: string, part: Command]>>): Command =>
  (command, choose) => {
    for (const [name, [description, part]] of Object.entries(parts)) {
      part(command.command(name).description(description), choose)
    }
  }

const valuesOf = (command: Parser): unknown => ({
  ...command.opts(),
  ...Object.fromEntries(
    command.registeredArguments.map((argument, i) => [
      argument.name().toLowerCase(),
      command.processedArgs[i],
    ]),
  ),
})

const messageOf = (command: Parser, error: ParseResult.ParseError) => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  const key = issue?.path[0]
  // The issue is about the options together, not about one of them.
  if (key === undefined) return `error: ${issue?.message}`
  const option = command.options.find((option) => option.attributeName() === key)
  const name =
    option === undefined ? `argument '${String(key).toUpperCase()}'` : `option '${option.flags}'`
  return `error: ${name}: ${issue?.message}`
}

/** The options of a command that calls the service as its client does. */
export const ofClient = (command: Parser) =>
  command
    .addOption(new Option("--key <KEY>", "API key").env("AUTHORITY_API_KEY").makeOptionMandatory())
    .addOption(
      new Option("--url <URL>", "address of the service")
        .env("AUTHORITY_URL")
        .default("http://127.0.0.1:8080"),
    )

export const client = {
  key: Schema.Redacted(Schema.String),
  url: Schema.String.pipe(
    Schema.filter((text) => /^https?:\/\//i.test(text) && URL.canParse(text), {
      message: () => "expected an http or https address",
    }),
  ),
}

export const account = ["--account <NAME>", "name or id of the account"] as const

/** An option without a value. */
export const flag = Schema.optionalWith(Schema.Boolean, { default: () => false })

export const period = {
  since: Schema.optional(Parameter.Time),
  until: Schema.optional(Parameter.Time),
}

export const format = Schema.Literal("table", "csv", "json")

export const formatOption = () =>
  new Option("--format <FORMAT>", "output format").choices(format.literals).default("table")

/**
 * A whole number of at least `min`. `of` completes the error message: it says what is counted, such
 * as " of credits", or is empty.
 */
export const wholeNumber = (min: 0 | 1, of: string) =>
  Schema.String.pipe(
    Schema.pattern(/^\d+$/),
    Schema.compose(Schema.NumberFromString),
    Schema.compose(Credits),
    Schema.filter((number) => number >= min),
    Schema.annotations({
      message: () => ({ message: `expected a whole number${of}, ${min} or more`, override: true }),
    }),
  )
