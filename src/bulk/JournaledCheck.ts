/**
 * Checks a long list batch by batch and records each batch in the journal before it is sent. A
 * batch with an answer in the journal is not sent again. After the first batch that fails despite
 * the client's retries, no further batch is sent.
 */
import { createHash } from "node:crypto"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import {
  CheckJournal,
  type Entry,
  type JournaledAnswer,
  type JournaledResult,
  type JournalFailed,
} from "./CheckJournal.ts"
import * as CheckTally from "./CheckTally.ts"
import * as Client from "../client/EffectClient.ts"
import type { Outcome } from "../client/Outcomes.ts"

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

    const send = ({ batch, ...options }: Batch) =>
      Effect.suspend(() =>
        stoppedBy === undefined
          ? client.check(options.urls, { ...options, idempotencyKey: `${journal.runId}-${batch}` })
          : Effect.fail(stoppedBy),
      )

    // Sends a batch. After a 402, waits until no other batch is in flight, because other batches
    // may hold the missing credits. Then sends the batch a second and last time.
    const sendInTurn = (batch: Batch) =>
      slots
        .withPermits(1)(send(batch))
        .pipe(
          Effect.catchTag("InsufficientCredits", () => slots.withPermits(concurrency)(send(batch))),
        )

    const answerTo = (batch: Batch) =>
      Effect.gen(function* () {
        const { creditsUsed, outcomes } = yield* sendInTurn(batch)
        const answer = { results: outcomes.map(withoutUrl), creditsUsed }
        yield* journal.keep(batch.batch, answer)
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
        if (entry !== undefined && !isOf(urls, entry)) return yield* new ListChanged()
        if (entry?.answer !== undefined) return entry.answer
        if (stoppedBy !== undefined) return undefined
        if (entry === undefined) yield* journal.sending(batch, fingerprint)
        // The service compares the preference too, when a batch is sent again.
        const provenance = entry === undefined || entry.fingerprint === fingerprint
        return yield* answerTo({ batch, urls, provenance })
      })

    return { check, stoppedBy: () => stoppedBy }
  })

interface Batch {
  readonly batch: number
  readonly urls: ReadonlyArray<string>
  readonly provenance: boolean
}

const withoutUrl = ({ url: _url, ...result }: Outcome): JournaledResult => result

const hashOf = (urls: ReadonlyArray<string>) =>
  createHash("sha256").update(JSON.stringify(urls)).digest("base64")

const fingerprintOf = (urls: ReadonlyArray<string>) => `${hashOf(urls)} with provenance`

// Earlier versions sent batches without the preference.
const isOf = (urls: ReadonlyArray<string>, { fingerprint }: Entry) =>
  fingerprint === fingerprintOf(urls) || fingerprint === hashOf(urls)

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
        if (entry === undefined || !isOf(urls, entry)) return yield* new ListChanged()
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
          answer: entry !== undefined && isOf(urls, entry) ? entry.answer : undefined,
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
