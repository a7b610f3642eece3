/** Tests the help and the usage errors of every CLI verb, in the process of the test. */
import { tmpdir } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

/** Returns the commands that the help of these words lists, each with its subcommands. */
const listedBy = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { stdout } = await Effect.runPromise(verb(tmpdir(), [...words, "--help"]))
  const [, commands = ""] = stdout.split("\nCommands:\n")
  const names = Array.from(commands.matchAll(/^ {2}([a-z]+)/gm), ([, name = ""]) => name)
  const listed = names.filter((name) => name !== "help")
  if (listed.length === 0) return [words.join(" ")]
  const all: Array<string> = []
  for (const name of listed) all.push(...(await listedBy(...words, name)))
  return all
}

const verbs = await listedBy()

/** Splits an example as a shell does, as far as the examples need it. */
const wordsOf = (example: string) =>
  Array.from(example.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? "")

/** With these settings no verb can do its work, so only the parsing of its arguments is tested. */
const settings = { AUTHORITY_API_KEY: "am_1", AUTHORITY_DATABASE_URL: "nothing" }

describe("the help of the program", () => {
  it("the program's help lists every verb", () => {
    assert.includeMembers(
      [...verbs],
      ["serve", "audit", "history", "key rotate", "provider report"],
    )
  })

  for (const name of verbs) {
    it.scopedLive(`the help of ${name} fits into 80 columns, and its examples are accepted`, () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const help = yield* verb(cwd, [...name.split(" "), "--help"])
        assert.deepStrictEqual([help.code, help.stderr], [0, ""])
        assert.match(help.stdout, /\n {2}--json /)
        for (const line of help.stdout.split("\n")) assert.isAtMost(line.length, 80, line)
        const [, examples = ""] = help.stdout.split("\nExample:\n")
        // `mcp` would wait for standard input. Its tests run it as a process.
        const lines = name === "mcp" ? [] : examples.trim().split("\n")
        for (const [program, ...words] of lines.map(wordsOf)) {
          assert.deepStrictEqual([program, ...words].join(" ").indexOf(`authority ${name}`), 0)
          assert.notStrictEqual((yield* verb(cwd, words, settings)).code, 2, words.join(" "))
        }
      }),
    )
  }
})

describe("wrong usage of the CLI", () => {
  const account = "018f3c1e-7b5a-7c3d-9e2f-0123456789ab"
  const long = "x".repeat(201)
  const wrong: Readonly<Record<string, RegExp>> = {
    accont: /'accont'\n.*account/,
    account: /Commands:\n +create/,
    "account frobnicate": /'frobnicate'/,
    "account list --jsn": /'--jsn'\n.*--json/,
    "account list acme": /too many arguments/,
    "account create": /argument 'NAME'/,
    "account create a%b": /'NAME': expected 1 to 100 letters/,
    [`account create ${account}`]: /'NAME': expected a name that does not look like/,
    "account create a --credits many": /'--credits <N>': expected a whole number of credits, 0/,
    "account create a --credits 0x10": /expected a whole number of credits, 0/,
    "credits balance": /'--account <NAME>'/,
    "credits grant --account a --amount 0": /'--amount <N>': .+, 1 or more/,
    "credits statement --account a --since noon": /'--since <TIME>': Expected a UTC day such as/,
    "credits statement --account a --until 2026-11-26T10:45:00": /Expected a UTC day such as/,
    "provider report --since 2026-1-1": /Expected a UTC day such as/,
    [`credits grant --account a --amount 1 --note ${long}`]:
      /'--note <TEXT>': expected at most 200 characters\n$/,
    [`credits correct --account a --amount 1 --note ${long}`]: /expected at most 200 characters\n$/,
    "credits correct --account a --amount 1 --note ": /expected the reason of the correction/,
    "usage --account a --by week": /day, key/,
    "key create --account a --expires-in 3651d": /'--expires-in <TIME>': .+ at most 3650d/,
    "key create --account a --expires-in 0s": /'--expires-in <TIME>': .+ longer than 0\n$/,
    "key create --account a --scopes write": /'--scopes <SCOPES>': expected scopes .+ check, read/,
    "key update id --budget 20/week": /expected a budget such as 500\/day, 500\/month or/,
    "key update id": /nothing to change: add --label/,
    [`key create --account a --label ${long}`]:
      /'--label <TEXT>': expected at most 200 characters\n$/,
    [`key update id --label ${long}`]: /'--label <TEXT>': expected at most 200 characters\n$/,
    "key rotate id --grace soon": /'--grace <TIME>': expected a length of time/,
    "dataset import list.csv --format tranco --top 0": /'--top <N>': expected a whole number, 1/,
    "history example.com --limit 1001": /'--limit <N>': expected 1 to 1000/,
    "check list.txt": /'--key <KEY>'/,
    "check --key": /'--key <KEY>'/,
    "check --key am_1 --url localhost": /'--url <URL>': expected an http or https address/,
    "check --key am_1 --output ": /--output <FILE>': expected a file name, or - for stdout/,
    "check --key am_1 --format xml": /table, csv, tsv, json, ndjson/,
  }

  for (const [words, message] of Object.entries(wrong)) {
    it.scopedLive(`the error message says what is wrong with authority ${words}`, () =>
      Effect.gen(function* () {
        const { code, stderr, stdout } = yield* verb(yield* temporaryFolder, words.split(" "))
        assert.deepStrictEqual({ code, stdout }, { code: 2, stdout: "" })
        assert.match(stderr, message)
      }),
    )
  }

  it.scopedLive("text that a store cannot keep is refused with one line", () =>
    Effect.gen(function* () {
      for (const text of ["🚀".slice(0, 1), "a\0"]) {
        for (const words of [
          ["credits", "grant", "--account", "a", "--amount", "1", "--note", text],
          ["credits", "correct", "--account", "a", "--amount", "1", "--note", text],
          ["credits", "balance", "--account", text],
          ["credits", "statement", "--account", text],
          ["key", "create", "--account", "a", "--label", text],
          ["key", "create", "--account", text],
          ["key", "list", "--account", text],
          ["key", "update", "id", "--label", text],
          ["account", "suspend", text],
          ["usage", "--account", text],
        ]) {
          const { code, stderr } = yield* verb(yield* temporaryFolder, words)
          assert.strictEqual(code, 2, words.join(" "))
          assert.match(stderr, /^error: .+: expected text without U\+0000.+\n$/)
        }
      }
    }),
  )

  it.scopedLive("the value of an option may begin with dashes", () =>
    Effect.gen(function* () {
      const words = wordsOf("credits grant --account acme --amount 1 --note --thanks")
      assert.strictEqual((yield* verb(yield* temporaryFolder, words, settings)).code, 1)
    }),
  )
})
