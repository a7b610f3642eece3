/** Tests the help and the usage errors of every CLI verb, in the process of the test. */
import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { authority } from "../../src/cli/Cli.ts"
import * as CommandLine from "../../src/cli/CommandLine.ts"
import { examples } from "../../src/cli/examples.ts"

/** Runs a command line that prints help or a usage error, but runs no verb. Returns the output. */
const run = (...words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const [out, err] = [new Array<string>(), new Array<string>()]
    const console: Console.Console = {
      ...(yield* Console.consoleWith(Effect.succeed)),
      log: (text: unknown) => Effect.sync(() => void out.push(String(text))),
      error: (text: unknown) => Effect.sync(() => void err.push(String(text))),
    }
    const exit = yield* CommandLine.run(authority, { examples, version: "1.2.3" })(words).pipe(
      Effect.withConsole(console),
      Effect.exit,
    )
    return { ok: Exit.isSuccess(exit), out: out.join("\n"), err: err.join("\n") }
  }).pipe(Effect.provide(NodeContext.layer), Effect.withConfigProvider(noEnvironment))

const noEnvironment = ConfigProvider.fromMap(new Map())

const knownExamples = new Map(Object.entries(examples))

const verbs = Effect.provide(CommandLine.verbs(authority), NodeContext.layer)

/** Splits an example as a shell does, as far as the examples need it. */
const wordsOf = (example: string) =>
  Array.from(example.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? "")

const libraryText =
  /user-defined|This setting|This option can|true or false|An integer|One of the following|<->|Transformation|DurationFromSelf/

describe("the help", () => {
  it.effect(
    "the program's help lists every CLI verb, such as account, and every subcommand, such as account create",
    () =>
      Effect.gen(function* () {
        const names = (yield* verbs).map(({ name }) => name)
        for (const name of [
          "serve",
          "account",
          "account create",
          "key rotate",
          "check",
          "openapi",
        ]) {
          assert.include(names, name)
        }
        const { out } = yield* run("--help")
        for (const name of names) assert.include(out, name)
      }),
  )

  it.effect(
    "the help of every CLI verb fits into 80 columns and has no default text of the CLI library",
    () =>
      Effect.gen(function* () {
        for (const { name } of [{ name: "" }, ...(yield* verbs)]) {
          const { err, ok, out } = yield* run(...name.split(" ").filter(Boolean), "--help")
          assert.deepStrictEqual({ ok, err }, { ok: true, err: "" }, name)
          assert.include(out, `authority ${name}`.trim())
          assert.notMatch(out, libraryText, name)
          for (const line of out.split("\n")) assert.isAtMost(line.length, 80, line)
          for (const example of knownExamples.get(name) ?? []) assert.include(out, `  ${example}`)
        }
      }),
  )

  it.effect(
    "the help of every CLI verb explains each option in a phrase with the option's default",
    () =>
      Effect.gen(function* () {
        for (const verb of yield* verbs) {
          const { options } = yield* Effect.provide(
            CommandLine.helpOf(authority, verb.path),
            NodeContext.layer,
          )
          for (const { description, isOptional, name, placeholder } of options) {
            assert.match(description, /^[A-Z]/, `${verb.name} ${name}`)
            assert.notMatch(placeholder ?? "", /[a-z]/, `${verb.name} ${name}`)
            if (isOptional && placeholder !== undefined) {
              assert.match(description, /\(default: .+\)$/, `${verb.name} ${name}`)
            }
          }
        }
      }),
  )

  it.effect("the help of every CLI verb has an example that the program accepts", () =>
    Effect.gen(function* () {
      for (const { hasParts, name, path } of yield* verbs) {
        if (hasParts) continue
        for (const example of knownExamples.get(name) ?? []) {
          const [program, ...words] = wordsOf(example)
          assert.strictEqual(program, "authority")
          assert.deepStrictEqual(words.slice(0, path.length), path)
          const problem = yield* Effect.provide(
            CommandLine.problemOf(authority, words),
            NodeContext.layer,
          ).pipe(
            Effect.withConfigProvider(
              ConfigProvider.fromMap(new Map([["AUTHORITY_API_KEY", "am_1"]])),
            ),
          )
          assert.isUndefined(problem, example)
        }
        assert.isAtLeast(knownExamples.get(name)?.length ?? 0, 1, `${name} has an example`)
      }
    }),
  )

  it.effect(
    "a CLI verb that needs a subcommand, such as account, prints the verb's help if no subcommand is given",
    () =>
      Effect.gen(function* () {
        const { ok, out } = yield* run("account")
        assert.isTrue(ok)
        assert.match(out, /account create +Create an account/)
      }),
  )
})

describe("wrong usage", () => {
  for (const [mistake, givesHelp, words, message] of [
    [
      "a mistyped CLI verb",
      "lists all CLI verbs and suggests the most similar verb",
      ["accont"],
      /^there is no verb "accont": did you mean account\? The verbs are serve, account, .+, openapi$/,
    ],
    [
      "a mistyped subcommand",
      "lists all subcommands and suggests the most similar subcommand",
      ["account", "creat", "acme"],
      /^there is no verb "account creat": did you mean account create\? The verbs are account create, account list$/,
    ],
    [
      "an unknown subcommand",
      "lists all subcommands",
      ["account", "frobnicate"],
      /^there is no verb "account frobnicate"\. The verbs are account create, account list$/,
    ],
    [
      "a mistyped option",
      "lists all options and suggests the most similar option",
      ["account", "create", "acme", "--credit", "5"],
      /^there is no option --credit: did you mean --credits\? The options are --credits, --json, --help$/,
    ],
    [
      "an unknown option",
      "lists all options",
      ["account", "list", "--frobnicate=1"],
      /^there is no option --frobnicate\. The options are --json, --help$/,
    ],
    [
      "a missing API key",
      "names the environment variable for it",
      ["check", "list.txt"],
      /^the option --key KEY is missing: .*AUTHORITY_API_KEY/,
    ],
    [
      "a missing option",
      "names and describes the option",
      ["credits", "balance"],
      /^the option --account NAME is missing: name or id of the account; for help, run: authority credits balance --help$/,
    ],
    [
      "a missing value of an option",
      "names the option",
      ["check", "--key"],
      /^the option --key needs a value; /,
    ],
    [
      "a missing argument",
      "names the argument",
      ["account", "create"],
      /^the argument NAME is missing; for help, run: authority account create --help$/,
    ],
    [
      "a superfluous argument",
      "quotes the argument",
      ["account", "list", "acme"],
      /^the argument "acme" is unexpected; /,
    ],
    [
      "an invalid length of time",
      "names the option",
      ["key", "create", "--account", "a", "--expires-in", "soon"],
      /^--expires-in: expected a length of time such as 500ms, 10s, 5m, 24h or 90d, at most 3650d; /,
    ],
    [
      "a text in place of a number",
      "names the option",
      ["account", "create", "acme", "--credits", "many"],
      /^--credits: expected a whole number of credits, 0 or more; /,
    ],
    [
      "a grant of 0 credits",
      "names the option",
      ["credits", "grant", "--account", "acme", "--amount", "0"],
      /^--amount: expected a whole number of credits, 1 or more; /,
    ],
    [
      "an invalid URL of the service",
      "names the option",
      ["check", "--key", "am_1", "--url", "localhost"],
      /^--url: expected an http or https address; /,
    ],
    [
      "an unknown format",
      "lists the formats",
      ["check", "--key", "am_1", "--format", "xml"],
      /^expected one of table, csv, json, ndjson; /,
    ],
    [
      "a negative number",
      "names the option",
      ["account", "create", "acme", "--credits=-1"],
      /^--credits: expected a whole number of credits, 0 or more; /,
    ],
    [
      "a lifetime of more than ten years",
      "names the option",
      ["key", "create", "--account", "a", "--expires-in", "3651d"],
      /^--expires-in: expected a length of time .+, at most 3650d; /,
    ],
    [
      "a grace period of millions of years",
      "names the option",
      ["key", "rotate", "id", "--grace", "200000000d"],
      /^--grace: expected a length of time .+, at most 3650d; /,
    ],
    [
      "an account name that looks like an id",
      "names the argument",
      ["account", "create", "018f3c1e-7b5a-7c3d-9e2f-0123456789ab"],
      /^NAME: expected a name that does not look like an account's id; /,
    ],
    [
      "an invalid account name",
      "names the argument",
      ["account", "create", "a b"],
      /^NAME: expected 1 to 100 letters/,
    ],
    [
      "an invalid time",
      "names the option",
      ["credits", "statement", "--account", "acme", "--since", "yesterday"],
      /^--since: expected a time such as 2026-11-21 or 2026-11-21T09:30:00Z; /,
    ],
    [
      "an import of 0 domains",
      "names the option",
      ["dataset", "import", "list.csv", "--format", "tranco", "--top", "0"],
      /^--top: expected a whole number, 1 or more; /,
    ],
  ] as const) {
    it.effect(`for ${mistake}, the error message ${givesHelp}`, () =>
      Effect.gen(function* () {
        const { err, ok, out } = yield* run(...words)
        assert.deepStrictEqual({ ok, out }, { ok: false, out: "" })
        assert.match(err, message)
        assert.notMatch(err, libraryText)
      }),
    )
  }

  it.effect("the value of an option may begin with dashes", () =>
    Effect.gen(function* () {
      const problem = yield* Effect.provide(
        CommandLine.problemOf(
          authority,
          wordsOf("credits grant --account acme --amount 1 --note --thanks"),
        ),
        NodeContext.layer,
      )
      assert.isUndefined(problem)
    }),
  )
})

describe("the completions of bash", () => {
  const complete = (script: string, ...words: ReadonlyArray<string>) =>
    execFileSync(
      "bash",
      [
        "--norc",
        "-c",
        'source <(printf "%s" "$0"); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _authority_bash_completions authority; echo "${COMPREPLY[*]}"',
        script,
        ...words,
      ],
      { encoding: "utf8" },
    )
      .trim()
      .split(" ")

  it.effect("the bash completions complete CLI verbs, subcommands, options and formats", () =>
    Effect.gen(function* () {
      const { out: script } = yield* run("--completions", "bash")
      assert.deepStrictEqual(complete(script, "authority", "acc"), ["account"])
      assert.deepStrictEqual(complete(script, "authority", "account", "cr"), ["create"])
      assert.deepStrictEqual(complete(script, "authority", "account", "create", "--cr"), [
        "--credits",
      ])
      assert.deepStrictEqual(complete(script, "authority", "check", "--format", "nd"), ["ndjson"])
    }),
  )
})
