/**
 * Checks a long list batch by batch and records each batch in the journal before it is sent. A
 * batch with an answer in the journal is not sent again. After the first batch that fails despite
 * the client's retries, no further batch is sent.
 */
import { createHash } from "node:crypto"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type JournaledAnswer, CheckJournal, type JournalFailed } from "./CheckJournal.ts"
import * as CheckTally from "./CheckTally.ts"
import type { Outcome } from "../client/Outcomes.ts"
import { compact, type CompactOutcome, expand } from "../Metrics.ts"
import * as Client from "../client/EffectClient.ts"

/** The list was changed between two runs, so its URLs do not match the journal. */
export class ListChanged extends Data.TaggedError("ListChanged") {}

export interface JournaledCheck {
  /**
   * Returns the answer to a batch, from the journal or from the service. Returns undefined when the
   * batch failed, or when sending has stopped. Batches are numbered from 0.
   */
  readonly check: (
    batch: number,
    urls: ReadonlyArray<string>,
  ) => Effect.Effect<JournaledAnswer | undefined, ListChanged | JournalFailed>
  /**
   * The error after which no new batch is sent; undefined while there is no such error. A batch
   * that was already in flight can still succeed.
   */
  readonly stoppedBy: () => Client.AnyClientError | undefined
}

/** Makes a journaled check. `concurrency` is the maximum number of batches in flight. */
export const make = (
  client: Client.Client,
  concurrency: number,
): Effect.Effect<JournaledCheck, never, CheckJournal> =>
  Effect.gen(function* () {
    const journal = yield* CheckJournal
    const slots = yield* Effect.makeSemaphore(concurrency)
    let stoppedBy: Client.AnyClientError | undefined

    const send = (batch: number, urls: ReadonlyArray<string>) =>
      Effect.suspend(() =>
        stoppedBy === undefined
          ? client.check(urls, { idempotencyKey: `${journal.runId}-${batch}` })
          : Effect.fail(stoppedBy),
      )

    // Sends a batch. After a 402, waits until no other batch is in flight, because other batches
    // may hold the missing credits. Then sends the batch a second and last time.
    const sendInTurn = (batch: number, urls: ReadonlyArray<string>) =>
      slots
        .withPermits(1)(send(batch, urls))
        .pipe(
          Effect.catchTag("InsufficientCredits", () =>
            slots.withPermits(concurrency)(send(batch, urls)),
          ),
        )

    const answerTo = (batch: number, urls: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const { creditsUsed, outcomes } = yield* sendInTurn(batch, urls)
        const answer = { results: outcomes.map(toResult), creditsUsed }
        yield* journal.keep(batch, answer)
        return answer
      }).pipe(
        Effect.catchIf(
          (error) => error instanceof Client.ClientError,
          (error) => {
            stoppedBy ??= error
            return Effect.succeed(undefined)
          },
        ),
      )

    const check: JournaledCheck["check"] = (batch, urls) =>
      Effect.gen(function* () {
        const fingerprint = fingerprintOf(urls)
        const entry = yield* journal.find(batch)
        if (entry !== undefined && entry.fingerprint !== fingerprint)
          return yield* new ListChanged()
        if (entry?.answer !== undefined) return entry.answer
        if (stoppedBy !== undefined) return undefined
        if (entry === undefined) yield* journal.sending(batch, fingerprint)
        return yield* answerTo(batch, urls)
      })

    return { check, stoppedBy: () => stoppedBy }
  })

const fingerprintOf = (urls: ReadonlyArray<string>) =>
  createHash("sha256").update(JSON.stringify(urls)).digest("base64")

/**
 * Counts the outcomes of a finished run from the journal. Sends nothing. Fails with ListChanged
 * when `batches` is not the list of that run.
 */
export const tallyOf = <E>(batches: Stream.Stream<ReadonlyArray<string>, E>) =>
  Effect.gen(function* () {
    const journal = yield* CheckJournal
    const tally = CheckTally.make()
    yield* Stream.runForEach(Stream.zipWithIndex(batches), ([urls, batch]) =>
      Effect.gen(function* () {
        const entry = yield* journal.find(batch)
        if (entry?.fingerprint !== fingerprintOf(urls)) return yield* new ListChanged()
        tally.add(urls, entry.answer)
      }),
    )
    if ((yield* journal.size) > tally.batches()) return yield* new ListChanged()
    return tally.summary()
  })

/** Sums what the journal's answers cost, and finds the batches of the list without an answer. */
export const paidAndLeft = <E>(batches: Stream.Stream<ReadonlyArray<string>, E>) =>
  Effect.gen(function* () {
    const journal = yield* CheckJournal
    const answered = batches.pipe(
      Stream.zipWithIndex,
      Stream.mapEffect(([urls, batch]) =>
        Effect.map(journal.find(batch), (entry) => ({
          urls,
          answer: entry?.fingerprint === fingerprintOf(urls) ? entry.answer : undefined,
        })),
      ),
    )
    const paid = yield* Stream.runFold(
      answered,
      0,
      (sum, { answer }) => sum + (answer?.creditsUsed ?? 0),
    )
    const left = answered.pipe(
      Stream.filter(({ answer }) => answer === undefined),
      Stream.map(({ urls }) => urls),
    )
    return { paid, left }
  })

const toResult = (outcome: Outcome): CompactOutcome =>
  "reason" in outcome ? outcome.reason : compact(outcome)

export const toOutcome = (url: string, result: CompactOutcome): Outcome =>
  typeof result === "string" ? { url, reason: result } : { url, ...expand(result) }
