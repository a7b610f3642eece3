/** The verbs in the process of the test. What the shell sees of them is in `program/Cli.test.ts`. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { printFailure } from "../../src/cli/ExitStatus.ts"
import { temporaryFolder } from "../support/Stores.ts"
import { verb } from "../support/Verb.ts"

describe("wrong usage", () => {
  it.live("every kind of wrong usage is reported in one line", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const console = yield* Console.consoleWith(Effect.succeed)
      yield* printFailure(
        Effect.forEach(wrong, ([name, ...args]) =>
          Effect.gen(function* () {
            lines.length = 0
            const error = yield* Effect.flip(verb(args))
            assert.propertyVal(error, "_tag", "WrongUsage", name)
            assert.lengthOf(lines, 1, name)
            assert.match(lines.join(), /^authority: .+$/, name)
          }),
        ),
      ).pipe(
        Effect.withConsole({
          ...console,
          error: (text: unknown) => Effect.sync(() => void lines.push(String(text))),
        }),
      )
    }),
  )

  const wrong = [
    ["a verb that does not exist", "frobnicate"],
    ["a subcommand that does not exist", "account", "frobnicate"],
    ["an option that is missing", "credits", "balance"],
    ["an argument that is missing", "account", "create"],
    ["an option that does not exist", "account", "list", "--frobnicate"],
    ["a value that is not a number", "account", "create", "acme", "--credits", "many"],
    ["a number below zero", "account", "create", "acme", "--credits=-1"],
    ["an invalid account name", "account", "create", "a b"],
    ["a name that looks like an id", "account", "create", "018f3c1e-7b5a-7c3d-9e2f-0123456789ab"],
    [
      "a lifetime of millions of years",
      "key",
      "create",
      "--account",
      "a",
      "--expires-in",
      "999999999d",
    ],
    ["a grace period of millions of years", "key", "rotate", "id", "--grace", "200000000d"],
    [
      "a lifetime of more than ten years",
      "key",
      "create",
      "--account",
      "a",
      "--expires-in",
      "3651d",
    ],
  ] as const
})

describe("a database that does not exist", () => {
  /** Every verb that reads the database, but does not create it. */
  const readers = [
    ["account", "list"],
    ["key", "create", "--account", "acme"],
    ["key", "list", "--account", "acme"],
    ["key", "rotate", "id"],
    ["key", "revoke", "id"],
    ["credits", "grant", "--account", "acme", "--amount", "1"],
    ["credits", "balance", "--account", "acme"],
    ["credits", "statement", "--account", "acme"],
    ["credits", "verify", "--json"],
    ["backup", "copy.db"],
  ] as const

  for (const args of readers) {
    it.scopedLive(
      `authority ${args.slice(0, 2).join(" ")} does not create a missing database, and prints its path`,
      () =>
        Effect.gen(function* () {
          const cwd = yield* temporaryFolder
          const file = join(cwd, "authority.db")
          const inFolder = args.map((word) => word.replace("copy.db", join(cwd, "copy.db")))
          const error = yield* Effect.flip(
            verb(inFolder, { AUTHORITY_DATABASE_URL: `sqlite:${file}` }),
          )
          assert.propertyVal(error, "_tag", "NoDatabase")
          assert.include(String(error), `there is no database at ${file};`)
          assert.deepStrictEqual(readdirSync(cwd), [])
        }),
    )
  }
})
