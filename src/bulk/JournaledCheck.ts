/**
 * A long list, batch by batch: what the journal knows is not asked again, what is asked is in the
 * journal first, and the first failure that trying again cannot mend ends the sending.
 */
import { createHash } from "node:crypto"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { type Answer, CheckJournal, type JournalFailed } from "./CheckJournal.ts"
import type { Outcome } from "../client/Batch.ts"
import { compact, type CompactOutcome, expand } from "../Metrics.ts"
import * as Client from "../client/Client.ts"

/** The batch is another one than the journal has under its number. */
export class ListChanged extends Data.TaggedError("ListChanged") {}

export interface JournaledCheck {
  /** Undefined when the batch was not sent, or in vain. Batches are numbered from 0. */
  readonly check: (
    batch: number,
    urls: ReadonlyArray<string>,
  ) => Effect.Effect<Answer | undefined, ListChanged | JournalFailed>
  /** Why no more batches are sent; those under way are waited for all the same. */
  readonly stoppedBy: () => Client.AnyClientError | undefined
}

/** `concurrency`: batches at a time. */
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
          ? Client.checkLeniently(client.check, urls, `${journal.runId}-${batch}`)
          : Effect.fail(stoppedBy),
      )

    /** Credits that seem to be lacking may only be held for the other batches: ask once more, alone. */
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
        const fingerprint = createHash("sha256").update(JSON.stringify(urls)).digest("base64")
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

const toResult = (outcome: Outcome): CompactOutcome =>
  "reason" in outcome ? outcome.reason : compact(outcome)

export const toOutcome = (url: string, result: CompactOutcome): Outcome =>
  typeof result === "string" ? { url, reason: result } : { url, ...expand(result) }
