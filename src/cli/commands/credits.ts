/** Grants and corrects credits, shows balances and statements, and verifies the ledger. */
import { closeSync, createReadStream, openSync, rmSync, writeFileSync } from "node:fs"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AccountActs from "../../accounts/AccountActs.ts"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { counted } from "../../contract/counted.ts"
import { ShortText, ShortTextOrNull, StoredText } from "../../contract/fields.ts"
import * as Failure from "../../database/Failure.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { maxProblems } from "../../ledger/verification/Audit.ts"
import * as Audit from "../../ledger/verification/Audit.ts"
import * as Heads from "../../ledger/verification/SqlVerification.ts"
import { OutputFailed } from "../../lists/OutcomeFile.ts"
import * as Database from "../Database.ts"
import { type Column, csv, line, row, table } from "../Output.ts"
import * as Command from "../Command.ts"

const grant = Command.onDatabase({
  examples: ['authority credits grant --account acme --amount 500 --note "invoice 17"'],
  declare: (command) =>
    command
      .requiredOption(...Command.account)
      .requiredOption("--amount <N>", "whole credits to add, at least 1")
      .option("--note <TEXT>", "reason, shown in the account's statement (default: none)"),
  options: Schema.Struct({
    account: StoredText,
    amount: Command.wholeNumber(1, " of credits"),
    note: Schema.optional(ShortTextOrNull),
  }),
  act: AccountActs.grant,
  text: ({ account, available }, { amount }) =>
    `Granted ${counted(amount, "credit")} to ${account}, which now has ${counted(available, "credit")} available.`,
  ifLost: () => ", although the credits are granted",
})

const correct = Command.onDatabase({
  examples: ['authority credits correct --account acme --amount 9000 --note "typed 10,000"'],
  declare: (command) =>
    command
      .requiredOption(...Command.account)
      .requiredOption("--amount <N>", "whole credits to take away, at least 1")
      .requiredOption("--note <TEXT>", "reason, shown in the account's statement"),
  options: Schema.Struct({
    account: StoredText,
    amount: Command.wholeNumber(1, " of credits"),
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

const balance = Command.onDatabase({
  examples: ["authority credits balance --account acme"],
  declare: (command) => command.requiredOption(...Command.account),
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

const statement = Command.make({
  examples: ["authority credits statement --account acme --since 2026-11-01 --format csv"],
  declare: (command) =>
    command
      .requiredOption(...Command.account)
      .option("--since <TIME>", "first time to include (default: the first entry)")
      .option("--until <TIME>", "end of the period, exclusive (default: now)")
      .addOption(Command.formatOption()),
  options: Schema.Struct({ account: StoredText, ...Command.period, format: Command.format }),
  run: ({ account, format, since, until }, json) =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const keys = yield* ApiKeys
      const { id, name } = yield* AccountActs.find(account)
      const labels = new Map((yield* keys.list(id)).map((key) => [String(key.id), key.label]))
      const entries = ledger.statement(id, { since, until }).pipe(
        Stream.map((stored) => {
          const { key, sequence: _, ...entry } = AccountActs.entryOf(stored)
          const note = stored.note
          return { ...entry, note, key: key && { id: key, label: labels.get(key) ?? null } }
        }),
      )
      yield* Stream.runForEach(writers[json ? "json" : format](entries, name), line)
    }).pipe(Effect.provide(Database.existing)),
})

type Line = Omit<ReturnType<typeof AccountActs.entryOf>, "key" | "sequence"> & {
  readonly note: string | null
  /** The API key of a charge; null if it is not known. */
  readonly key: { readonly id: string; readonly label: string | null } | null
}

const columns: ReadonlyArray<Column<Line>> = [
  ["TIME".padEnd(24), "time", ({ at }) => at],
  ["KIND".padEnd(10), "kind", ({ kind }) => kind],
  ["AMOUNT".padStart(12), "amount", ({ amount }) => amount],
  ["BALANCE".padStart(14), "balance", ({ balanceAfter }) => balanceAfter],
  ["URLS", "urls", ({ urls }) => urls],
  [null, "request_id", ({ requestId }) => requestId],
  ["REQUEST OR NOTE".padEnd(36), null, ({ note, requestId }) => requestId ?? note],
  [null, "note", ({ note }) => note],
  [null, "key_id", ({ key }) => key && key.id],
  [null, "key_label", ({ key }) => key && key.label],
  ["KEY", null, ({ key }) => key && (key.label ?? key.id)],
]

type Lines<E> = Stream.Stream<Line, E>

const writers = {
  table: <E>(lines: Lines<E>) =>
    Stream.concat(
      Stream.make(table(columns, [])),
      Stream.map(lines, (line) => row(columns, line)),
    ),
  csv: <E>(lines: Lines<E>) =>
    Stream.concat(
      Stream.make(csv(columns, [])),
      Stream.map(lines, (line) => csv(columns, [line], false)),
    ),
  json: <E>(lines: Lines<E>, account: string) =>
    lines.pipe(
      Stream.zipWithIndex,
      Stream.map(([line, i]) => (i === 0 ? "" : ",") + JSON.stringify(line)),
      (entries) =>
        Stream.concat(
          Stream.make(`{"account":${JSON.stringify(account)},"entries":[`),
          Stream.concat(entries, Stream.make("]}")),
        ),
    ),
}

class BooksBroken extends Data.TaggedError("BooksBroken")<{ readonly problems: number }> {
  override get message() {
    return `the ledger has errors (${counted(this.problems, "problem")}); grant no more credits, and restore a backup`
  }
}

const verify = Command.onDatabase({
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
        against === undefined ? [] : yield* compareHeads(against),
      )
      const ok = problems.length === 0
      const heads = ok && file !== undefined ? { file, ...(yield* writeHeads(file)) } : undefined
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

class UnreadableHeads extends Data.TaggedError("UnreadableHeads")<{ readonly message: string }> {}

/** Writes a new file with one line for each account. Returns the file's SHA-256 digest. */
const writeHeads = (file: string) =>
  Effect.acquireUseRelease(
    Effect.try({ try: () => openSync(file, "wx"), catch: OutputFailed.of(file) }),
    (descriptor) =>
      Heads.heads.pipe(
        Stream.tap((head) =>
          Effect.try({
            // Throws if the disk is full, whereas `writeSync` may write part of the line.
            try: () => writeFileSync(descriptor, `${Heads.lineOf(head)}\n`),
            catch: OutputFailed.of(file),
          }),
        ),
        Heads.digest,
        Effect.onError(() => Effect.sync(() => rmSync(file, { force: true }))),
      ),
    (descriptor) => Effect.sync(() => closeSync(descriptor)),
  )

const decode = Schema.decode(Heads.Line)

/** Returns the first 100 problems that show where the ledger does not continue the file's heads. */
const compareHeads = (file: string) =>
  NodeStream.fromReadable(
    () => createReadStream(file),
    (error) => new UnreadableHeads({ message: `${file} cannot be read: ${Failure.ofFile(error)}` }),
  ).pipe(
    Stream.decodeText("utf8"),
    Stream.splitLines,
    Stream.orElseIfEmptyStream(
      () =>
        new UnreadableHeads({
          message: `${file} is empty, so it proves nothing; name a file that 'authority credits verify --heads' wrote`,
        }),
    ),
    Stream.zipWithIndex,
    Stream.mapEffect(([line, i]) =>
      Effect.mapError(
        decode(line),
        () =>
          new UnreadableHeads({
            message: `${file}: line ${i + 1} is not a head, as 'authority credits verify --heads' writes it`,
          }),
      ),
    ),
    // Version 1.1.0 wrote a head of the audit log at the end of the file.
    Stream.filter(([accountId]) => accountId !== "audit"),
    Stream.mapEffect(([accountId, entries, head]) => Heads.problemOf({ accountId, entries, head })),
    Stream.filter((problem) => problem !== undefined),
    Stream.take(maxProblems),
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray),
  )

export const command = Command.group({
  grant: ["Add credits to an account", grant],
  correct: ["Take away credits that were granted by mistake", correct],
  balance: ["Show the credits of an account", balance],
  statement: ["Show an account's grants, charges and corrections, oldest first", statement],
  verify: ["Recompute every balance and hash; exit with 1 on any error", verify],
})
