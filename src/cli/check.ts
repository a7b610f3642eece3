/**
 * Checks a list of URLs of any length through the HTTP API. One file per user stores every answer,
 * so that no list pays again for what another list or an interrupted run has paid for.
 */
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { createInterface } from "node:readline/promises"
import { Option } from "commander"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Client from "../client/PromiseClient.ts"
import { baseUrlOf } from "../client/Request.ts"
import { isHidden } from "../client/Targets.ts"
import * as OutcomeFile from "../lists/OutcomeFile.ts"
import * as OutcomeFormat from "../lists/OutcomeFormat.ts"
import type { OwnColumns } from "../lists/outcomeTable.ts"
import * as Plan from "../lists/Plan.ts"
import { type Connect, Run } from "../lists/Run.ts"
import { AnswersFailed } from "../lists/SqlAnswers.ts"
import * as Summary from "../lists/Summary.ts"
import * as ListFile from "../lists/ListFile.ts"
import * as AnswersFile from "./AnswersFile.ts"
import { line, write } from "./Output.ts"
import { maxUrls } from "../contract/Limits.ts"
import * as Progress from "./Progress.ts"
import { counted } from "../contract/counted.ts"
import { printable } from "../check/printable.ts"
import { isoTime, TimeSpan } from "../accounts/TimeSpan.ts"
import * as Command from "./Command.ts"

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
  ...Command.client,
  column: Schema.optional(Schema.String),
  output: Schema.optional(
    Schema.NonEmptyString.annotations({ message: () => "expected a file name, or - for stdout" }),
  ),
  format: Schema.optional(Schema.Literal(...OutcomeFormat.names)),
  columns: Schema.Literal("all", "url"),
  delimiter: Schema.optional(Delimiter),
  patience: TimeSpan,
  again: Command.flag,
  answers: Schema.optional(
    Schema.NonEmptyString.annotations({ message: () => "expected a file name, or none" }),
  ),
  yes: Command.flag,
  preview: Command.flag,
  maxCredits: Schema.optional(Command.wholeNumber(0, " of credits")),
  maxAge: Schema.optional(TimeSpan),
  json: Command.flag,
})
type Options = typeof Options.Type

const stdout: OutcomeFile.OutcomeFile = { begin: Effect.void, write, finish: Effect.void }

/** The run ended before every URL had an outcome. `message` says why, and what to do. */
class CheckStopped extends Data.TaggedError("CheckStopped")<{ readonly message: string }> {}

/** The service refused a request, or did not answer. */
class ClientFailed extends Data.TaggedError("ClientFailed")<{
  readonly error: Client.AnyClientError
}> {}

const check = (given: Options) =>
  Effect.gen(function* () {
    const output = given.output === "-" ? undefined : given.output
    const options = { ...given, output }
    const format = yield* formatOf(options)
    const input = yield* ListFile.open({
      ...options,
      onNote: (note) => process.stderr.write(`${note}\n`),
    })
    const answers = AnswersFile.placeOf(options.answers)
    yield* refuseOverwriting({ list: input.file, answers, output })
    const resume = howToResume(answers, input)
    const ended = yield* Effect.gen(function* () {
      yield* greet(options)
      const isOnScreen = output === undefined && process.stdout.isTTY
      const shown = { unit: "URLs", isLogged: true, isDrawn: !isOnScreen }
      const previewed = yield* Progress.make(shown)
      const progress = yield* Progress.make(shown)
      const sink =
        output === undefined || options.preview ? stdout : yield* OutcomeFile.file(output)
      const run = new Run({
        answers: yield* AnswersFile.open(answers, { isReadOnly: options.preview }),
        connect: connecting(options, reportRetries(progress)),
        service: baseUrlOf(options.url),
        apiKey: Redacted.value(options.key),
      })
      const plan = yield* attempt((signal) =>
        run.plan(urlsOf(input), {
          signal,
          isAgain: options.again,
          maxAgeMs: options.maxAge && Duration.toMillis(options.maxAge),
          onProgress: (done, all) => Effect.runSync(previewed.show(done / all, done, "previewed")),
        }),
      )
      if (options.preview) return yield* showPreview(options, input, { plan, run })
      for (const text of Plan.describe(plan, yield* Clock.currentTimeMillis))
        yield* progress.report(text)
      const doubtful = yield* consent(options, input, plan)
      const summary = yield* running(options, {
        input,
        own: options.columns === "url" ? undefined : input.table,
        format,
        sink,
        progress,
        run,
        doubtful,
      })
      return { summary, run }
    }).pipe(
      Effect.catchTags({
        ClientFailed: ({ error }) => new CheckStopped({ message: reason(error, options) }),
        AnswersFailed: ({ message }) => new CheckStopped({ message: `${message}; ${resume}` }),
        OutputFailed: ({ message }) => new CheckStopped({ message: `${message}; ${resume}` }),
      }),
      Effect.scoped,
      Effect.onInterrupt(() => Console.error(`stopped; ${resume}`)),
    )
    if (ended !== undefined && ended.run.status !== "done") {
      const { run, summary } = ended
      const why = run.halt === undefined ? "" : `${reason(run.halt.error, options)}; `
      return yield* new CheckStopped({
        message: `${why}${counted(summary.left, "URL")} left; ${resume}`,
      })
    }
  }).pipe(Effect.onInterrupt(() => exitWithFailure))

export const command = Command.make({
  examples: [
    "authority check urls.txt --output figures.csv",
    "authority check export.csv --column Address --url https://service.example.com",
  ],
  declare: (command) =>
    Command.ofClient(
      command.argument("[FILE]", 'file with one URL per line, or a CSV file; "-" means stdin', "-"),
    )
      .option(
        "--column <COLUMN>",
        "header name or number of the CSV column with the URLs (default: the only column with URLs)",
      )
      .option(
        "-o, --output <FILE>",
        "file for the outcome of each URL; - for stdout (default: stdout)",
      )
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
      .option("--patience <TIME>", "how long to retry while the service fails", "90s")
      .option("--preview", "say what the check would do and cost, free of charge, and end")
      .option(
        "--max-credits <CREDITS>",
        "the most that the check may cost; above it, nothing is checked",
      )
      .option(
        "--max-age <TIME>",
        "buy anew what was answered longer ago, and figures that are older (default: 30d, and the service decides)",
      )
      .option("--again", "buy all addresses anew, whatever was answered before")
      .option(
        "--answers <FILE>",
        `file that keeps the paid answers, or none (default: ${AnswersFile.shownPlace})`,
      )
      .option("--yes", "go on where a terminal would be asked"),
  options: Options,
  run: check,
})

const urlsOf = ({ items }: ListFile.ListFile) => items.map(({ url }) => url)

/** Fails if two of the files are the same. The answers file need not exist yet. */
const refuseOverwriting = (
  files: Readonly<Record<"list" | "answers" | "output", string | undefined>>,
) => {
  const placeOf = (file: string) => (existsSync(file) ? realpathSync(file) : resolve(file))
  const pairs = [
    ["output", "list"],
    ["output", "answers"],
    ["answers", "list"],
  ] as const
  for (const [written, other] of pairs) {
    const [file, lost] = [files[written], files[other]]
    if (file === undefined || lost === undefined || placeOf(file) !== placeOf(lost)) continue
    const what = other === "answers" ? "paid answers" : other
    return new CheckStopped({
      message: `the ${written} ${file} would overwrite the ${what}; name another file with --${written}`,
    })
  }
  return Effect.void
}

/** Prints what the check would do and cost. */
const showPreview = (
  { json }: Options,
  input: ListFile.ListFile,
  { plan, run }: { readonly plan: Plan.Plan; readonly run: Run },
) =>
  Effect.gen(function* () {
    for (const url of urlsOf(input)) {
      const outcome = run.outcomeOf(url)
      if (outcome === undefined || !("reason" in outcome) || outcome.reason !== "INVALID_URL")
        continue
      process.stderr.write(
        `${printable(url)}: ${outcome.detail?.replace(/\.$/, "") ?? "it is not valid"}\n`,
      )
    }
    const now = yield* Clock.currentTimeMillis
    const repeatedOthers = plan.repeatedOthers.length
    const preview = { ...plan, repeatedOthers, oldest: plan.oldest && isoTime(plan.oldest) }
    yield* line(json ? JSON.stringify({ preview }) : Plan.describe(plan, now).join("\n"))
  })

/**
 * Decides what may be spent. Asks on the terminal if a host was guessed, something may be charged a
 * second time, or the balance is short. Fails before anything is paid if the answer is no or the
 * limit is exceeded.
 */
const consent = (options: Options, { guessed }: ListFile.ListFile, plan: Plan.Plan) =>
  Effect.gen(function* () {
    const [example] = guessed
    if (example !== undefined && !options.yes) {
      const what = `The letters outside ASCII of ${counted(guessed.length, "host")} are guessed, such as in ${printable(example)}`
      if ((yield* ask(options, what, "Are they right? [y/n]")) !== "y") return yield* no
    }
    const { availableCredits, budget, doubtful, maxCredits } = plan
    let choice: "again" | "leaveOut" = "leaveOut"
    if (doubtful.targets > 0) {
      const answer = options.yes
        ? "y"
        : yield* ask(options, Plan.twice(doubtful), "Check them again? [y/n/skip]")
      if (answer === "y") choice = "again"
      else if (answer !== "skip") return yield* no
    }
    const more = choice === "again" ? doubtful.credits : 0
    const cost = maxCredits === undefined || more === undefined ? undefined : maxCredits + more
    const { maxCredits: limit } = options
    if (limit !== undefined && (cost === undefined || cost > limit)) {
      return yield* new CheckStopped({ message: aboveLimit(limit, cost) })
    }
    const available = Math.min(availableCredits ?? Infinity, budget ?? Infinity)
    if ((cost ?? 0) > available && !options.yes && isTerminal(options)) {
      const what =
        budget === available
          ? "The budget of the key is too small for the whole list"
          : "The account has too few credits for the whole list"
      if ((yield* ask(options, what, "Check as much as they pay for? [y/n]")) !== "y")
        return yield* no
    }
    return choice
  })

const no = new CheckStopped({ message: "nothing was checked" })

const aboveLimit = (limit: number, cost: number | undefined) => {
  const price =
    cost === undefined
      ? "the service does not name its price"
      : `the list may cost ${counted(cost, "credit")}`
  return `${price}, and --max-credits is ${limit.toLocaleString("en")}; nothing was checked now`
}

const isTerminal = ({ file }: Options) =>
  file !== "-" && process.stdin.isTTY && process.stderr.isTTY

/** Asks on the terminal. Fails if there is none. */
const ask = (options: Options, what: string, question: string) =>
  isTerminal(options)
    ? Effect.promise(async (signal) => {
        const terminal = createInterface({ input: process.stdin, output: process.stderr })
        const answer = await terminal
          .question(`${what}. ${question} `, { signal })
          .finally(() => terminal.close())
        return answer.trim().toLowerCase()
      })
    : new CheckStopped({ message: `${what}; add --yes to go on. Nothing was checked` })

interface Running {
  readonly input: ListFile.ListFile
  readonly own: OwnColumns
  readonly format: OutcomeFormat.OutcomeFormat
  readonly sink: OutcomeFile.OutcomeFile
  readonly progress: Progress.Progress
  readonly run: Run
  readonly doubtful: "again" | "leaveOut"
}

/** Runs the plan. An interruption ends the run and its output as a lack of credits does. */
const running = (options: Options, parts: Running) =>
  Effect.gen(function* () {
    const { doubtful, format, own, progress, run, sink } = parts
    const onChange = () => {
      const { answered, failed, targets } = run.progress
      const details = `${failed.toLocaleString("en")} failed, ${counted(run.creditsUsed, "credit")}`
      Effect.runSync(progress.show(answered / Math.max(1, targets), answered, details))
    }
    // The first call waits for the batches in flight, and the second one aborts them.
    const abort = () => {
      run.stop()
      run.stop()
    }
    yield* sink.begin
    yield* sink.write(format.begin(own))
    // Start the run before the fork, so that an interruption always finds a run to abort.
    const end = run.go({ doubtful, onChange })
    const going = Effect.onInterrupt(
      attempt(() => end),
      () => {
        abort()
        return Effect.promise(() => end.catch(() => {}))
      },
    )
    // Effect interrupts a child at once, but this fiber must still complete its output.
    const fiber = yield* Effect.forkScoped(
      Effect.zipRight(
        Effect.all([going, writing(parts)], { concurrency: "unbounded", discard: true }),
        conclude(options, parts),
      ),
    )
    return yield* Effect.onInterrupt(Fiber.join(fiber), () => {
      abort()
      return Fiber.await(fiber)
    })
  })

/** Writes the outcomes as they arrive, in the order of the list. */
const writing = ({ format, input, own, run, sink }: Running) =>
  Effect.gen(function* () {
    let areFirst = true
    for (let start = 0; start < input.items.length; start += maxUrls) {
      const rows: Array<OutcomeFormat.Row> = []
      for (const item of input.items.slice(start, start + maxUrls)) {
        const outcome =
          run.outcomeOf(item.url) ?? (yield* Effect.promise(() => run.settled(item.url)))
        if (outcome !== undefined || run.status === "done") rows.push({ item, outcome })
      }
      if (rows.length === 0) continue
      yield* sink.write(format.rows(rows, own, areFirst))
      areFirst = false
    }
    yield* sink.write(format.end)
  })

/** Calls the list engine, and turns its rejection into a typed error or a defect. */
const attempt = <A>(
  act: (signal: AbortSignal) => Promise<A>,
): Effect.Effect<A, AnswersFailed | ClientFailed> =>
  Effect.tryPromise({ try: act, catch: (error) => error }).pipe(
    Effect.catchAll((error): Effect.Effect<never, AnswersFailed | ClientFailed> => {
      if (Client.isClientError(error)) return new ClientFailed({ error })
      return error instanceof AnswersFailed ? Effect.fail(error) : Effect.die(error)
    }),
  )

// Chooses the format of the outcomes: one JSON document for `--json` without an output file.
// Otherwise the format that `--format` names, or that of the output file's extension, or a table.
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

// Completes the output and prints the summary. The summary goes to stdout if there is an output
// file, otherwise to stderr or into the document of `--json`.
const conclude = ({ json, output }: Options, { input, progress, run, sink }: Running) =>
  Effect.gen(function* () {
    yield* progress.clear
    const summary = Summary.of(input.items, run)
    const document = `"summary":${JSON.stringify(summary)}}`
    if (json && output === undefined) yield* sink.write(`${document}\n`)
    const isDone = run.status === "done"
    if (isDone) yield* sink.finish
    if (output === undefined) {
      if (!json) process.stderr.write(`${Summary.describe(summary)}\n`)
    } else {
      const place = isDone ? output : `${output}.partial`
      yield* line(
        json ? `{${document}` : `${Summary.describe(summary)} The outcomes are in ${place}.`,
      )
    }
    return summary
  })

const clientOf = ({ key, patience, url }: Options, onRetry?: Client.Options["onRetry"]) =>
  Client.AuthorityMetrics({
    apiKey: Redacted.value(key),
    baseUrl: url,
    patienceMs: Duration.toMillis(patience),
    onRetry,
  })

const connecting =
  (options: Options, report: (error: Client.AnyClientError, waitMs: number) => void): Connect =>
  (onRetry) =>
    clientOf(options, (error, waitMs) => {
      report(error, waitMs)
      return onRetry?.(error, waitMs)
    })

// Fails before anything is created if the API key is wrong or no connection is possible. Ignores a
// 429, a status of 500 or more and a timeout, because the run retries its requests.
const greet = (options: Options) =>
  attempt((signal) => clientOf({ ...options, patience: Duration.zero }).key({ signal })).pipe(
    Effect.catchTag("ClientFailed", (failure) =>
      isHidden(failure.error) ||
      ["RateLimited", "ServiceFailed", "TimedOut"].includes(failure.error._tag)
        ? Effect.void
        : Effect.fail(failure),
    ),
  )

const reason = (
  error: Client.AnyClientError | Client.InvalidBaseUrl,
  { patience, url }: Options,
): string => {
  const said = error.message.replace(/\.$/, "")
  switch (error._tag) {
    case "Unauthorized":
      return "the service rejects the key; set AUTHORITY_API_KEY or --key to a valid one"
    case "Forbidden":
      return `${said}; a check needs a key with the scopes check and read, of an account that is not suspended: ask the operator of the service`
    case "InsufficientCredits":
      if (error.limit === "budget") {
        return `the budget of the key does not allow more: ${said}; ask the operator of the service to raise it`
      }
      return said.includes("x-max-credits")
        ? `the service has raised its price since this check began: ${said}`
        : `the account is out of credits: ${said}; ask the operator of the service to grant more`
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

const howToResume = (answers: string | undefined, { file }: ListFile.ListFile) =>
  answers === undefined
    ? "this run cannot be resumed, because it keeps no answers; without --answers none, a run does"
    : `to resume, run the same command${file === undefined ? " with the same input" : ""}`

// Reports at most one retry every ten seconds, for all batches together.
const reportRetries = (progress: Progress.Progress) => {
  let reportedAt = Number.NEGATIVE_INFINITY
  return ({ message }: Client.AnyClientError, waitMs: number) => {
    const now = performance.now()
    if (now - reportedAt < reportIntervalMs) return
    reportedAt = now
    const seconds = Math.max(1, Math.round(waitMs / 1000))
    Effect.runSync(progress.report(`${message} Retrying in ${seconds} s.`))
  }
}

const reportIntervalMs = 10_000

/** Makes an interrupted run exit with 1, because some URLs have no outcome. */
const exitWithFailure = Effect.sync(() => {
  process.exitCode = 1
})
