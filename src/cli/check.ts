/**
 * Checks a list of URLs of any length through the HTTP API, a few batches at a time. A journal
 * stores every answer. After an interrupted run, the same command resumes the run. After a finished
 * run, the same command sends no request and costs no credits. A run that reads stdin and writes
 * the outcomes to stdout has no journal.
 */
import { existsSync, realpathSync } from "node:fs"
import { Option } from "commander"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as CheckJournal from "../bulk/CheckJournal.ts"
import * as Client from "../client/EffectClient.ts"
import { maxUrls } from "../contract/Limits.ts"
import * as JournaledCheck from "../bulk/JournaledCheck.ts"
import { retentionMs } from "../ledger/IdempotencyKey.ts"
import * as SqlCheckJournal from "../sql/CheckJournal.ts"
import * as CheckTally from "../bulk/CheckTally.ts"
import * as ListPreview from "../bulk/ListPreview.ts"
import * as OutcomeFile from "../bulk/OutcomeFile.ts"
import * as OutcomeFormat from "../bulk/OutcomeFormat.ts"
import { line, write } from "./Output.ts"
import * as Progress from "./Progress.ts"
import * as UrlInput from "../bulk/UrlInput.ts"
import { counted } from "../text/counted.ts"
import { printable } from "../text/printable.ts"
import { TimeSpan } from "../time/TimeSpan.ts"
import * as Verb from "./Verb.ts"

const HttpUrl = Schema.String.pipe(
  Schema.filter((text) => /^https?:\/\//i.test(text) && URL.canParse(text), {
    message: () => "expected an http or https address",
  }),
)

const Delimiter = Schema.String.pipe(
  Schema.transform(Schema.String, {
    decode: (text) => (/^(tab|\\t)$/i.test(text) ? "\t" : text),
    encode: (text) => text,
  }),
  Schema.pattern(/^[^"\r\n\p{L}\p{N}]$/u, {
    message: () => "expected one character that is no letter, or tab",
  }),
)

const Options = Schema.Struct({
  file: Schema.String,
  key: Schema.Redacted(Schema.String),
  url: HttpUrl,
  column: Schema.optional(Schema.String),
  output: Schema.optional(
    Schema.NonEmptyString.annotations({ message: () => "expected a file name, or - for stdout" }),
  ),
  format: Schema.optional(Schema.Literal(...OutcomeFormat.names)),
  columns: Schema.Literal("all", "url"),
  delimiter: Schema.optional(Delimiter),
  patience: TimeSpan,
  again: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  preview: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  maxCredits: Schema.optional(Verb.wholeNumber(0, " of credits")),
  json: Verb.json,
})
type Options = typeof Options.Type

// Maximum number of batches in flight. The limit leaves capacity for other clients of the service.
const concurrency = 4

const stdout: OutcomeFile.OutcomeFile = { begin: Effect.void, write, finish: Effect.void }

/** The run ended before every URL had an outcome. `message` says why, and what to do. */
class CheckStopped extends Data.TaggedError("CheckStopped")<{ readonly message: string }> {}

const check = (given: Options) =>
  Effect.gen(function* () {
    const output = given.output === "-" ? undefined : given.output
    const options = { ...given, output }
    const format = yield* formatOf(options)
    const input = yield* UrlInput.open({
      ...options,
      onNote: (note) => process.stderr.write(`${note}\n`),
    })
    if (output !== undefined && existsSync(output) && realpathSync(output) === input.file?.path) {
      return yield* new CheckStopped({
        message: `the output ${output} would overwrite the list; name another file with --output`,
      })
    }
    if (options.preview) return yield* showPreview(options, input)
    const place = output ?? input.file?.path
    const journal = place === undefined ? undefined : `${place}.journal`
    const state =
      options.again || journal === undefined || !existsSync(journal)
        ? "new"
        : yield* stateOf(options, input, journal)
    if (state === "complete") return
    if (state !== "finished") {
      yield* greet(options)
      yield* withinLimit(options, input, options.again ? undefined : journal)
    }

    const resume = howToResume(journal, input)
    const summary = yield* Effect.gen(function* () {
      const sink = output === undefined ? stdout : yield* OutcomeFile.file(output)
      const isOnScreen = output === undefined && process.stdout.isTTY
      const progress = yield* Progress.make({ unit: "URLs", isLogged: true, isDrawn: !isOnScreen })
      return yield* run(options, { input, format, sink, progress, journal }).pipe(
        Effect.catchTags({
          JournalFailed: ({ message }) => new CheckStopped({ message: `${message}; ${resume}` }),
          OutputFailed: ({ message }) => new CheckStopped({ message: `${message}; ${resume}` }),
        }),
        Effect.provide(
          journal === undefined
            ? CheckJournal.forgetful
            : SqlCheckJournal.layer(journal, { again: options.again }),
        ),
      )
    }).pipe(
      Effect.scoped,
      Effect.onInterrupt(() => Console.error(`stopped; ${resume}`)),
    )
    if (summary.stoppedBy !== undefined) {
      const { left } = summary.tally
      const why = reason(summary.stoppedBy, options)
      return yield* new CheckStopped({
        message: `${why}; ${counted(left, "URL")} left; ${resume}`,
      })
    }
  }).pipe(Effect.onInterrupt(() => exitWithFailure))

export const verb = Verb.make({
  examples: [
    "authority check urls.txt --output figures.csv",
    "authority check export.csv --column Address --url https://service.example.com",
  ],
  declare: (command) =>
    command
      .argument("[FILE]", 'file with one URL per line, or a CSV file; "-" means stdin', "-")
      .addOption(
        new Option("--key <KEY>", "API key").env("AUTHORITY_API_KEY").makeOptionMandatory(),
      )
      .addOption(
        new Option("--url <URL>", "address of the service")
          .env("AUTHORITY_URL")
          .default("http://127.0.0.1:8080"),
      )
      .option(
        "--column <COLUMN>",
        "header name or number of the CSV column with the URLs (default: the only column with URLs)",
      )
      .option("--output <FILE>", "file for the outcome of each URL; - for stdout (default: stdout)")
      .addOption(
        new Option(
          "--format <FORMAT>",
          "output format (default: from the output file's extension, else table)",
        ).choices(OutcomeFormat.names),
      )
      .addOption(
        new Option("--columns <COLUMNS>", "columns of a CSV list that the output keeps")
          .choices(["all", "url"])
          .default("all"),
      )
      .option("--delimiter <CHARACTER>", "separator of the CSV output (default: a comma)")
      .option("--patience <TIME>", "how long to retry while the service fails", "2m")
      .option("--preview", "say what the check would do and cost, free of charge, and end")
      .option(
        "--max-credits <CREDITS>",
        "the most that the list may cost, earlier runs included; above it, nothing is checked",
      )
      .option("--again", "check a finished list once more, and pay for it once more"),
  options: Options,
  run: check,
})

/** Prints what the check would do and cost. */
const showPreview = (options: Options, { batches }: UrlInput.UrlInput) =>
  Effect.gen(function* () {
    const preview = yield* previewOf(options, batches, (url, problem) => {
      process.stderr.write(`${printable(url)}: ${problem}\n`)
    })
    yield* line(options.json ? JSON.stringify({ preview }) : ListPreview.describe(preview))
  })

const previewOf = <E>(
  options: Options,
  batches: Stream.Stream<ReadonlyArray<string>, E>,
  onInvalid: (url: string, problem: string) => void,
) =>
  Effect.gen(function* () {
    const stopped = (error: Client.AnyClientError | Client.InvalidBaseUrl) =>
      new CheckStopped({ message: reason(error, options) })
    const client = yield* Effect.mapError(
      connect(options, options.patience, () => Effect.void),
      stopped,
    )
    const ask = (urls: ReadonlyArray<string>) => Effect.mapError(client.preview(urls), stopped)
    return yield* ListPreview.of(batches, { ask, concurrency, onInvalid })
  })

/**
 * Fails before anything is paid when the list may cost more than --max-credits. What earlier runs
 * paid counts.
 */
const withinLimit = (options: Options, input: UrlInput.UrlInput, journal: string | undefined) =>
  Effect.gen(function* () {
    const { maxCredits: limit } = options
    if (limit === undefined) return
    if (input.file === undefined) {
      return yield* new CheckStopped({
        message: "--max-credits needs a list in a file, because the list is read twice",
      })
    }
    const { paid, left } = yield* JournaledCheck.paidAndLeft(input.batches)
    const { maxCredits } = yield* previewOf(options, left, () => {})
    if (paid + maxCredits <= limit) return
    const before = paid === 0 ? "" : `, after ${paid.toLocaleString("en")} already paid`
    return yield* new CheckStopped({
      message: `the list may cost ${counted(maxCredits, "credit")}${before}, and --max-credits is ${limit.toLocaleString("en")}; nothing was checked now`,
    })
  }).pipe(
    Effect.catchTag("JournalFailed", ({ message }) => new CheckStopped({ message })),
    Effect.provide(
      journal !== undefined && existsSync(journal)
        ? SqlCheckJournal.layer(journal)
        : CheckJournal.forgetful,
    ),
  )

/**
 * Finds out whether an earlier run finished the list. For "complete", and for "finished" if the
 * list is a file, also prints where the outcomes are and what it costs to check the list again.
 *
 * - "new": no earlier run finished the list
 * - "finished": the outcomes are in the journal, but there is no output file
 * - "complete": the outcomes are in the journal, and there is an output file
 */
const stateOf = (options: Options, input: UrlInput.UrlInput, journal: string) =>
  Effect.gen(function* () {
    const { finishedAt } = yield* CheckJournal.CheckJournal
    if (finishedAt === undefined) return "new"
    const { output } = options
    const hasOutput = output !== undefined && existsSync(output)
    // Do not read standard input here: it can be read only once, and `run` needs it.
    if (!hasOutput && input.file === undefined) return "finished"
    const tally = yield* JournaledCheck.tallyOf(input.batches)
    const done = `This list was finished at ${new Date(finishedAt).toISOString()}.`
    const again = `With --again the list is checked and charged again, for about ${counted(tally.creditsUsed, "credit")}.`
    if (!hasOutput) {
      process.stderr.write(
        `${done} Its outcomes come from ${journal}. Nothing is charged now. ${again}\n`,
      )
      return "finished"
    }
    const text = `${done} Its outcomes are in ${output}. Nothing was charged now. ${again}`
    if (options.json) process.stderr.write(`${text}\n`)
    yield* line(options.json ? JSON.stringify({ summary: tally }) : text)
    return "complete"
  }).pipe(
    Effect.catchTags({
      ListChanged: () => anotherList(journal, true),
      JournalFailed: ({ message }) => new CheckStopped({ message }),
    }),
    Effect.provide(SqlCheckJournal.layer(journal)),
  )

const anotherList = (journal: string | undefined, isFinished: boolean) =>
  new CheckStopped({
    message: `the journal ${journal} was created for another list, or before the list was changed; use the earlier list, or ${isFinished ? "add --again to check the new list, which costs credits" : "delete the journal to start a new run"}`,
  })

interface Run {
  readonly input: UrlInput.UrlInput
  readonly format: OutcomeFormat.OutcomeFormat
  readonly sink: OutcomeFile.OutcomeFile
  readonly progress: Progress.Progress
  /** Path of the journal; undefined when the run has no journal. */
  readonly journal: string | undefined
}

const run = (options: Options, { format, input, journal, progress, sink }: Run) =>
  Effect.gen(function* () {
    yield* reportResumption(journal, progress)
    yield* sink.begin
    const client = yield* connect(options, options.patience, yield* reportRetries(progress))
    const { check, stoppedBy } = yield* JournaledCheck.make(client, concurrency)
    const tally = CheckTally.make()
    const own = () => (options.columns === "url" ? undefined : input.table())
    let isBegun = false
    const begin = Effect.suspend(() => {
      if (isBegun) return Effect.void
      isBegun = true
      return sink.write(format.begin(own()))
    })

    yield* input.rows.pipe(
      Stream.zipWithIndex,
      Stream.mapEffect(
        ([items, i]) => {
          const urls = items.map(({ url }) => url)
          return Effect.map(check(i, urls), (answer) => ({ items, urls, answer }))
        },
        { concurrency },
      ),
      Stream.runForEach(({ answer, items, urls }) =>
        Effect.gen(function* () {
          // Write the outcomes of a batch only if all earlier batches have answers: `left` counts
          // the URLs of earlier batches without an answer. Other outcomes stay in the journal.
          const hasNoGap = tally.summary().left === 0
          if (answer !== undefined && hasNoGap) {
            const rows = items.flatMap((item, i) => {
              const result = answer.results[i]
              return result === undefined ? [] : [{ item, outcome: { url: item.url, ...result } }]
            })
            yield* begin
            yield* sink.write(format.rows(rows, own(), tally.batches() === 0))
          }
          tally.add(urls, answer)
          yield* show(progress, input, tally)
        }),
      ),
    )
    if ((yield* (yield* CheckJournal.CheckJournal).size) > tally.batches()) {
      return yield* new JournaledCheck.ListChanged()
    }
    yield* begin
    yield* sink.write(format.end)
    yield* progress.clear
    yield* conclude(options, sink, tally.summary())
    const { finish, finishedAt } = yield* CheckJournal.CheckJournal
    if (tally.summary().complete && finishedAt === undefined) yield* finish
    return { tally: tally.summary(), stoppedBy: stoppedBy() }
  }).pipe(
    Effect.catchTag("ListChanged", () =>
      Effect.flatMap(CheckJournal.CheckJournal, ({ finishedAt }) =>
        anotherList(journal, finishedAt !== undefined),
      ),
    ),
  )

// Chooses the format of the outcomes. `--json` without an output file: one JSON document. Otherwise
// the format of `--format`, else of the extension of the output file, else a table.
const formatOf = ({ delimiter, format, json, output }: Options) => {
  if (json && output === undefined) return Effect.succeed(OutcomeFormat.document)
  const name = format ?? OutcomeFormat.ofFile(output ?? "")
  if (name === undefined) {
    return new CheckStopped({
      message: `the output ${output} has an extension that cannot be written; use .csv, .tsv, .json, .ndjson or .txt, or add --format`,
    })
  }
  return Effect.succeed(OutcomeFormat.make(name, { delimiter, hasMark: output !== undefined }))
}

// Completes the output and prints the summary. With an output file, the summary goes to stdout.
// Without one, the summary goes to stderr, or into the document of `--json`.
const conclude = (
  { json, output }: Options,
  sink: OutcomeFile.OutcomeFile,
  tally: CheckTally.Summary,
) =>
  Effect.gen(function* () {
    const document = `"summary":${JSON.stringify(tally)}}`
    if (json && output === undefined) yield* sink.write(`${document}\n`)
    if (tally.complete) yield* sink.finish
    if (output === undefined) {
      if (!json) process.stderr.write(`${CheckTally.describe(tally)}\n`)
    } else {
      const place = tally.complete ? output : `${output}.partial`
      yield* line(
        json ? `{${document}` : `${CheckTally.describe(tally)} The outcomes are in ${place}.`,
      )
    }
  })

const connect = (
  { key, url }: Options,
  patience: Duration.DurationInput,
  onRetry: NonNullable<Client.Options["onRetry"]>,
) => Client.make({ apiKey: key, baseUrl: url, patience, onRetry })

// Fails before the run begins when the API key is wrong or no connection is possible. Ignores a
// 429, a status of 500 or more and a timeout, because the run retries its requests.
const greet = (options: Options) =>
  Effect.gen(function* () {
    const client = yield* connect(options, 0, () => Effect.void)
    yield* client.availableCredits
  }).pipe(
    Effect.catchTags({
      RateLimited: () => Effect.void,
      ServiceFailed: () => Effect.void,
      TimedOut: () => Effect.void,
    }),
    Effect.mapError((error) => new CheckStopped({ message: reason(error, options) })),
  )

const reason = (
  error: Client.AnyClientError | Client.InvalidBaseUrl,
  { patience, url }: Options,
): string => {
  const said = error.message.replace(/\.$/, "")
  switch (error._tag) {
    case "Unauthorized":
      return "the service rejects the key; set AUTHORITY_API_KEY or --key to a valid one"
    case "InsufficientCredits":
      return `the account is out of credits: ${said}; ask the operator of the service to grant more`
    case "InvalidBaseUrl":
      return `${said}; set the service's address with AUTHORITY_URL or --url`
    case "ConnectionFailed":
      return `${said} (${url}); check that the service runs, or set its address with AUTHORITY_URL or --url`
    default:
      return error.isTransient
        ? `${said}, after retries for ${Duration.format(patience)}; use --patience to retry longer`
        : `${said} (${url})`
  }
}

const howToResume = (journal: string | undefined, { file }: UrlInput.UrlInput) =>
  journal === undefined
    ? "this run cannot be resumed, because it has no journal; with --output, a run has a journal"
    : `to resume, run the same command${file === undefined ? " with the same input" : ""}`

const reportResumption = (journal: string | undefined, progress: Progress.Progress) =>
  Effect.gen(function* () {
    const { answered, finishedAt, size, startedAt, unansweredSince } =
      yield* CheckJournal.CheckJournal
    if ((yield* size) === 0 || finishedAt !== undefined) return
    const begun = new Date(startedAt).toISOString()
    yield* progress.report(
      `Resuming the run that began at ${begun}. Already answered: ${counted(answered, "batch", "batches")} of ${maxUrls} URLs. To start again, delete ${journal}.`,
    )
    const late = yield* unansweredSince((yield* Clock.currentTimeMillis) - retentionMs)
    if (late === 0) return
    yield* progress.report(
      `Sent more than a day ago, without an answer: ${counted(late, "batch", "batches")}. The service may have charged for them. It stores answers for a day only, so it may charge for them again.`,
    )
  })

// Reports retries. Reports each kind of error at most once in ten seconds, for all batches
// together.
const reportRetries = (progress: Progress.Progress) =>
  Effect.sync(() => {
    const reportedAt = new Map<string, number>()
    return ({ _tag, message }: Client.AnyClientError, waitMs: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (now - (reportedAt.get(_tag) ?? Number.NEGATIVE_INFINITY) < reportIntervalMs)
          return Effect.void
        reportedAt.set(_tag, now)
        const seconds = Math.max(1, Math.round(waitMs / 1000))
        return progress.report(`${message} Retrying in ${seconds} s.`)
      })
  })

const reportIntervalMs = 10_000

const show = (
  progress: Progress.Progress,
  { file }: UrlInput.UrlInput,
  tally: CheckTally.CheckTally,
) => {
  const summary = tally.summary()
  const done = summary.urls - summary.left
  const details = `${CheckTally.failures(summary).toLocaleString("en")} failed, ${counted(summary.creditsUsed, "credit")}`
  return progress.show(file && done / Math.max(1, file.urls), done, details)
}

/** Makes an interrupted run exit with 1, because some URLs have no outcome. */
const exitWithFailure = Effect.sync(() => {
  process.exitCode = 1
})
