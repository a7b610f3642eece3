import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AccountActs from "../../accounts/AccountActs.ts"
import * as Audit from "../../ledger/verification/Audit.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { ShortText, ShortTextOrNull, StoredText } from "../../contract/fields.ts"
import { counted } from "../../contract/counted.ts"
import * as Heads from "./heads.ts"
import { table } from "../Output.ts"
import { statement } from "./statement.ts"
import * as Verb from "../Verb.ts"

const grant = Verb.onDatabase({
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
  }),
  act: AccountActs.grant,
  text: ({ account, available }, { amount }) =>
    `Granted ${counted(amount, "credit")} to ${account}, which now has ${counted(available, "credit")} available.`,
  ifLost: () => ", although the credits are granted",
})

const correct = Verb.onDatabase({
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
  }),
  act: AccountActs.correct,
  text: ({ account, available }, { amount }) =>
    `Took ${counted(amount, "credit")} away from ${account}, which now has ${counted(available, "credit")} available.`,
  ifLost: () => ", although the credits are taken away",
})

const balance = Verb.onDatabase({
  examples: ["authority credits balance --account acme"],
  declare: (command) => command.requiredOption(...Verb.account),
  options: Schema.Struct({ account: StoredText }),
  act: ({ account }) => AccountActs.balance(account),
  text: (document) =>
    table(
      [
        ["AVAILABLE", null, ({ available }) => available],
        ["HELD", null, ({ held }) => held],
        ["GRANTED", null, ({ granted }) => granted],
        ["CHARGED", null, ({ charged }) => charged],
      ],
      [document],
    ),
})

class BooksBroken extends Data.TaggedError("BooksBroken")<{ readonly problems: number }> {
  override get message() {
    return `the ledger has errors (${counted(this.problems, "problem")}); grant no more credits, and restore a backup`
  }
}

const verify = Verb.onDatabase({
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
  }),
  act: ({ against, heads: file }) =>
    Effect.gen(function* () {
      const { verify } = yield* CreditLedger
      const { accounts, entries, problems } = Audit.withProblems(
        yield* verify,
        against === undefined ? [] : yield* Heads.compare(against),
      )
      const ok = problems.length === 0
      const heads = ok && file !== undefined ? { file, ...(yield* Heads.write(file)) } : undefined
      return { ok, accounts, entries, problems, heads }
    }),
  text: ({ accounts, entries, heads, ok, problems }, { against }) =>
    [
      ...problems,
      `Verified ${counted(accounts, "account")} and ${counted(entries, "entry", "entries")}: ${counted(problems.length, "problem")}.`,
      ...(ok && against !== undefined ? [`The ledger continues ${against}.`] : []),
      ...(heads === undefined
        ? []
        : [
            `Wrote the heads of ${counted(heads.accounts, "account")} to ${heads.file}, SHA-256 ${heads.digest}.`,
          ]),
    ].join("\n"),
  failure: ({ problems }) =>
    problems.length === 0 ? undefined : new BooksBroken({ problems: problems.length }),
})

export const verb = Verb.group({
  grant: ["Add credits to an account", grant],
  correct: ["Take away credits that were granted by mistake", correct],
  balance: ["Show the credits of an account", balance],
  statement: ["Show an account's grants, charges and corrections, oldest first", statement],
  verify: ["Recompute every balance and hash; exit with 1 on any error", verify],
})
