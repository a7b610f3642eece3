/**
 * Parses the command line. Then runs the verb of the CLI that it names, such as `account create`,
 * prints help, or prints a usage error.
 */
import type { BuiltInOptions } from "@effect/cli/BuiltInOptions"
import type { CliApp } from "@effect/cli/CliApp"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as Descriptor from "@effect/cli/CommandDescriptor"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { nearestName } from "../text/nearestName.ts"
import { WrongUsage } from "./ExitStatus.ts"
import * as Help from "./Help.ts"

type Program<E, R, A> = Command.Command<"authority", R, E, A>

interface About {
  readonly version: string
  /** The examples of each verb. The key is the verb's full name, such as `account create`. */
  readonly examples: Readonly<Record<string, ReadonlyArray<string>>>
}

const config: CliConfig.CliConfig = { ...CliConfig.defaultConfig, showBuiltIns: false }

/**
 * Runs the verb that the arguments name. For wrong usage, prints the problem and fails with
 * WrongUsage.
 */
export const run =
  <E, R, A>(program: Program<E, R, A>, about: About) =>
  (words: ReadonlyArray<string>): Effect.Effect<void, E | WrongUsage, R | CliApp.Environment> =>
    Effect.gen(function* () {
      const all = yield* verbs(program)
      const { parts, path } = verbOf(all, words)
      if (words.length === path.length && parts.length > 0) return yield* help(program, about, path)
      if (words.includes("--help") || words.includes("-h")) return yield* help(program, about, path)

      const parsed = yield* parse(program, all, words)
      if ("problem" in parsed) {
        yield* Console.error(parsed.problem)
        return yield* new WrongUsage()
      }
      const { directive } = parsed
      if (directive._tag === "UserDefined") {
        return yield* program.transform(program.handler(directive.value), directive.value)
      }
      return yield* builtIn(program, about, words, directive.option)
    })

/**
 * Returns the usage error in the arguments; undefined when the arguments are valid. Does not run
 * the verb.
 */
export const problemOf = <E, R, A>(program: Program<E, R, A>, words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const parsed = yield* parse(program, yield* verbs(program), words)
    return "problem" in parsed ? parsed.problem : undefined
  })

/** Lists all verbs of the CLI and their subcommands. */
export const verbs = <E, R, A>(program: Program<E, R, A>) =>
  Effect.sync(() => Help.verbs(Command.getHelp(program, config)))

/**
 * Returns the help of a verb of the CLI. `path` contains the words of the verb, for example
 * `["account", "create"]`.
 */
export const helpOf = <E, R, A>(program: Program<E, R, A>, path: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const words = ["authority", ...path, "--help"]
    const directive = yield* Effect.orDie(Descriptor.parse(program.descriptor, words, config))
    if (directive._tag !== "BuiltIn" || directive.option._tag !== "ShowHelp") {
      return yield* Effect.dieMessage(`No help for "${path.join(" ")}"`)
    }
    return Help.ofVerb(directive.option.helpDoc, directive.option.usage)
  })

const help = <E, R, A>(program: Program<E, R, A>, about: About, path: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const all = yield* verbs(program)
    const { parts, verb } = verbOf(all, path)
    if (verb === undefined) {
      const leaves = all.filter(({ hasParts }) => !hasParts)
      return yield* Console.log(
        Help.ofParts(path, Help.description(Command.getHelp(program, config)), leaves, [
          ["authority --version", "Print the version"],
          ["authority --completions SHELL", "Print a script for bash, zsh or fish"],
        ]),
      )
    }
    if (parts.length > 0) {
      return yield* Console.log(Help.ofParts(path, verb.description, parts, []))
    }
    const examples = new Map(Object.entries(about.examples)).get(verb.name) ?? []
    yield* Console.log(Help.ofLeaf(verb, yield* helpOf(program, path), examples))
  })

/**
 * Finds the verb at the start of the words, such as `account create`, and the verb's subcommands.
 * When the words begin with no verb, returns all top-level verbs as the subcommands.
 */
const verbOf = (all: ReadonlyArray<Help.Verb>, words: ReadonlyArray<string>) => {
  const verb = all.findLast(({ path }) => path.every((name, i) => name === words[i]))
  const path = verb?.path ?? []
  const parts = all.filter(
    (other) =>
      other.path.length === path.length + 1 && path.every((name, i) => name === other.path[i]),
  )
  return { verb, path, parts }
}

/**
 * Parses the arguments. For valid arguments, returns a `directive`, which says what to run.
 * Otherwise returns a `problem`: a usage error that says how to correct the arguments.
 */
const parse = <E, R, A>(
  program: Program<E, R, A>,
  all: ReadonlyArray<Help.Verb>,
  words: ReadonlyArray<string>,
) =>
  Effect.gen(function* () {
    const { parts, path } = verbOf(all, words)
    const next = words[path.length]
    if (parts.length > 0 && next !== undefined && !next.startsWith("-")) {
      return { problem: unknownVerb([...path, next].join(" "), parts) }
    }
    const { options } = yield* helpOf(program, path)
    const unknown = parts.length > 0 ? undefined : unknownOption(words, options)
    if (unknown !== undefined) return { problem: unknown }

    const seeHelp = `; for help, run: ${["authority", ...path, "--help"].join(" ")}`
    return yield* Descriptor.parse(program.descriptor, ["authority", ...words], config).pipe(
      Effect.map((directive) => {
        const [extra] = directive._tag === "UserDefined" ? directive.leftover : []
        return extra === undefined
          ? { directive }
          : { problem: `the argument "${extra}" is unexpected${seeHelp}` }
      }),
      Effect.catchAll(({ error }) =>
        Effect.succeed({ problem: plainly(Help.plain(error), options) + seeHelp }),
      ),
    )
  })

const unknownVerb = (name: string, siblings: ReadonlyArray<Help.Verb>) => {
  const names = siblings.map(({ name }) => name)
  const last = (text: string) => text.split(" ").at(-1) ?? text
  const nearest = nearestName(last(name), names.map(last))
  const suggested = names.find((sibling) => last(sibling) === nearest)
  return `there is no verb "${name}"${suggestion(suggested)} The verbs are ${names.join(", ")}`
}

/** The option of every verb. Usage errors list it after the verb's own options. */
const common = ["--help"]

/**
 * Further options of @effect/cli. The program does not report them as unknown, but usage errors do
 * not list them.
 */
const libraryOptions = ["--version", "--completions", "--log-level", "--wizard"]

const unknownOption = (words: ReadonlyArray<string>, options: ReadonlyArray<Help.Parameter>) => {
  const names = [...options.map(({ name }) => name), ...common]
  const hasValue = (word = "") =>
    options.some(({ name, placeholder }) => name === word && placeholder !== undefined)
  const end = words.indexOf("--")
  const unknown = words
    .slice(0, end === -1 ? undefined : end)
    .filter((word, i) => word.startsWith("--") && !hasValue(words[i - 1]))
    .map((word) => word.replace(/=.*/s, ""))
    .find((word) => !names.includes(word) && !libraryOptions.includes(word))
  return unknown === undefined
    ? undefined
    : `there is no option ${unknown}${suggestion(nearestName(unknown, names))} The options are ${names.join(", ")}`
}

/** Ends the sentence of a usage error, with a suggestion if there is a similar name. */
const suggestion = (nearest: string | undefined) =>
  nearest === undefined ? "." : `: did you mean ${nearest}?`

/** Rewrites a message of @effect/cli in plain words. Messages of this program stay unchanged. */
const plainly = (message: string, options: ReadonlyArray<Help.Parameter>): string => {
  const [, kind, name = ""] =
    /^(Expected to find option|Expected a value following option|Missing argument):? '?<?([\w-]+)/.exec(
      message,
    ) ?? []
  switch (kind) {
    case "Expected to find option": {
      const option = options.find((option) => option.name === name)
      const about = option === undefined ? "" : `: ${uncapitalized(option.description)}`
      return `the option ${[name, option?.placeholder ?? ""].join(" ").trim()} is missing${about}`
    }
    case "Expected a value following option":
      return `the option ${name} needs a value`
    case "Missing argument":
      return `the argument ${name} is missing`
    default:
      return message
        .replace("Expected one of the following cases:", "expected one of")
        .replace(
          /^More than one reference to option '(.+)' detected$/,
          "the option $1 is given twice",
        )
  }
}

/** Makes the first letter lower-case, except in abbreviations such as API. */
const uncapitalized = (text: string) =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text

/** Carries out an option that @effect/cli implements itself, such as `--version`. */
const builtIn = <E, R, A>(
  program: Program<E, R, A>,
  { version }: About,
  words: ReadonlyArray<string>,
  option: BuiltInOptions,
) =>
  option._tag === "ShowCompletions" && option.shellType === "bash"
    ? Effect.flatMap(Descriptor.getBashCompletions(program.descriptor, "authority"), (lines) =>
        Console.log(repaired(lines.join("\n"))),
      )
    : Command.run(program, { name: "authority", version })(["", "", ...words]).pipe(
        Effect.provide(CliConfig.layer(config)),
        Effect.catchIf(ValidationError.isValidationError, () => new WrongUsage()),
      )

/**
 * Repairs two defects in the bash script of @effect/cli 0.77.2: the script does not complete
 * options of subcommands, and completes all values of an option (`csv,json`) as one word.
 */
const repaired = (script: string) =>
  script
    .replaceAll(/^( +\w+(?:,\w+)+),(\w+\))$/gm, (_, parents: string, name: string) =>
      [parents.replaceAll(",", "__"), name].join(","),
    )
    .replaceAll(
      /compgen -W "([\w-]+(?:,[\w-]+)+)"/g,
      (_, choices: string) => `compgen -W "${choices.replaceAll(",", " ")}"`,
    )
