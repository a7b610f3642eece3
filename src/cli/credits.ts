import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Accounts } from "../Account.ts"
import { refused } from "../AuditLog.ts"
import { counted } from "../text/counted.ts"
import { ShortText, ShortTextOrNull, StoredText } from "../ShortText.ts"
import * as Balance from "../ledger/Balance.ts"
import * as Audit from "../ledger/Audit.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import * as Database from "./Database.ts"
import * as Heads from "./heads.ts"
import { although, print, table } from "./Output.ts"
import { statement } from "./statement.ts"
import * as Verb from "./Verb.ts"

/** The JSON document of `credits balance` and `credits grant`. */
const summary = (account: string, balance: Balance.Funds) => ({
  account,
  available: Balance.available(balance),
  held: balance.held,
  granted: balance.granted,
  charged: balance.charged,
})

const grant = Verb.make({
  examples: ['authority credits grant --account acme --amount 500 --note "invoice 17"'],
  declare: (command) =>
    command
      .requiredOption(...Verb.account)
      .requiredOption("--amount <N>", "whole credits to add, at least 1")
      .option("--note <TEXT>", "reason, shown in the account's statement (default: none)"),
  options: Schema.Struct({
    account: StoredText,
    amount: Verb.wholeNumber(1, " of credits"),
    note: Schema.optional(ShortTextOrNull),
    json: Verb.json,
  }),
  run: ({ account, amount, json, note = null }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const { id, name } = yield* accounts.find(account).pipe(refused("credits.grant", account))
      const balance = yield* ledger.grant(id, amount, note).pipe(refused("credits.grant", name))
      yield* print(
        json,
        summary(name, balance),
        `Granted ${counted(amount, "credit")} to ${name}, which now has ${counted(Balance.available(balance), "credit")} available.`,
      ).pipe(although("the credits are granted"))
    }).pipe(Effect.provide(Database.existing)),
})

const correct = Verb.make({
  examples: ['authority credits correct --account acme --amount 9000 --note "typed 10,000"'],
  declare: (command) =>
    command
      .requiredOption(...Verb.account)
      .requiredOption("--amount <N>", "whole credits to take away, at least 1")
      .requiredOption("--note <TEXT>", "reason, shown in the account's statement"),
  options: Schema.Struct({
    account: StoredText,
    amount: Verb.wholeNumber(1, " of credits"),
    note: ShortText.pipe(
      Schema.filter((note) => note.trim() !== "", {
        message: () => "expected the reason of the correction",
      }),
    ),
    json: Verb.json,
  }),
  run: ({ account, amount, json, note }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const { correct } = yield* CreditLedger
      const { id, name } = yield* accounts.find(account).pipe(refused("credits.correct", account))
      const balance = yield* correct(id, amount, note).pipe(refused("credits.correct", name))
      yield* print(
        json,
        summary(name, balance),
        `Took ${counted(amount, "credit")} away from ${name}, which now has ${counted(Balance.available(balance), "credit")} available.`,
      ).pipe(although("the credits are taken away"))
    }).pipe(Effect.provide(Database.existing)),
})

const balance = Verb.make({
  examples: ["authority credits balance --account acme"],
  declare: (command) => command.requiredOption(...Verb.account),
  options: Schema.Struct({ account: StoredText, json: Verb.json }),
  run: ({ account, json }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const { id, name } = yield* accounts.find(account)
      const document = summary(name, yield* ledger.balance(id))
      const { available, charged, granted, held } = document
      yield* print(
        json,
        document,
        table(["AVAILABLE", "HELD", "GRANTED", "CHARGED"], [[available, held, granted, charged]]),
      )
    }).pipe(Effect.provide(Database.existing)),
})

class BooksBroken extends Data.TaggedError("BooksBroken")<{ readonly problems: number }> {
  override get message() {
    return `the ledger has errors (${counted(this.problems, "problem")}); grant no more credits, and restore a backup`
  }
}

const verify = Verb.make({
  examples: [
    "authority credits verify",
    "authority credits verify --against heads-monday --heads heads-tuesday",
  ],
  declare: (command) =>
    command
      .option("--heads <FILE>", "write each account's last hash to a new file")
      .option("--against <FILE>", "prove that the ledger continues such a file"),
  options: Schema.Struct({
    heads: Schema.optional(Schema.NonEmptyString),
    against: Schema.optional(Schema.NonEmptyString),
    json: Verb.json,
  }),
  run: ({ against, heads: file, json }) =>
    Effect.gen(function* () {
      const { verify } = yield* CreditLedger
      const { accounts, entries, problems } = Audit.withProblems(
        yield* verify,
        against === undefined ? [] : yield* Heads.compare(against),
      )
      const ok = problems.length === 0
      const heads = ok && file !== undefined ? { file, ...(yield* Heads.write(file)) } : undefined
      yield* print(
        json,
        { ok, accounts, entries, problems, heads },
        [
          ...problems,
          `Verified ${counted(accounts, "account")} and ${counted(entries, "entry", "entries")}: ${counted(problems.length, "problem")}.`,
          ...(ok && against !== undefined ? [`The ledger continues ${against}.`] : []),
          ...(heads === undefined
            ? []
            : [
                `Wrote the heads of ${counted(heads.accounts, "account")} to ${file}, SHA-256 ${heads.digest}.`,
              ]),
        ].join("\n"),
      )
      if (!ok) return yield* new BooksBroken({ problems: problems.length })
    }).pipe(Effect.provide(Database.existing)),
})

export const verb = Verb.group({
  grant: ["Add credits to an account", grant],
  correct: ["Take away credits that were granted by mistake", correct],
  balance: ["Show the credits of an account", balance],
  statement: ["Show an account's grants, charges and corrections, oldest first", statement],
  verify: ["Recompute every balance and hash; exit with 1 on any error", verify],
})
