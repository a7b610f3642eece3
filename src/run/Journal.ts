/**
 * The journal of a run: the targets of its URLs, and the batches that were sent for it. The command
 * line stores it in a file, and the console in the browser.
 */
import * as v from "valibot"
import { Failure, type Schema, Success } from "../client/Bodies.ts"
import type * as Targets from "../client/Targets.ts"

export const Entry: Schema<Targets.Entry> = v.union([
  v.object({ url: v.string(), target: v.string(), known: v.exactOptional(v.boolean()) }),
  v.object({ url: v.string(), problem: v.string() }),
])
export type Entry = Targets.Entry

/** A group of at most 50 targets, sent in one request. */
export const Batch = v.object({
  /** The idempotency key of the batch, which belongs to no other batch. */
  key: v.string(),
  /** The URLs as they were sent. Only batches of earlier versions have URLs without a target. */
  items: v.array(v.object({ url: v.string(), target: v.exactOptional(v.string()) })),
  /** When the batch was sent for the first time, in epoch milliseconds. */
  sentAt: v.number(),
  /** The name of the account that the batch was sent for. Earlier versions did not record it. */
  account: v.exactOptional(v.string()),
  /** True when the answer was asked for with provenance. A repeat asks for the same. */
  provenance: v.boolean(),
  /** True for a batch that never got its answer, and whose targets were bought anew. */
  isGivenUp: v.exactOptional(v.boolean()),
  /** Absent while there is no answer. `outcomes` has one element per item, in their order. */
  answer: v.exactOptional(
    v.object({
      outcomes: v.array(v.union([Success, Failure])),
      creditsUsed: v.number(),
      /** In epoch milliseconds. */
      answeredAt: v.number(),
    }),
  ),
})
export type Batch = Readonly<v.InferOutput<typeof Batch>>

/** A method that fails rejects. The run then stops. */
export interface Journal {
  /** Returns everything that earlier starts of the run recorded. */
  readonly read: () => Promise<{
    readonly entries: ReadonlyArray<Entry>
    readonly batches: ReadonlyArray<Batch>
  }>
  readonly keepEntries: (entries: ReadonlyArray<Entry>) => Promise<void>
  /**
   * Stores a batch in the place of the batch with the same key. Resolves when the batch survives a
   * crash.
   */
  readonly keepBatch: (batch: Batch) => Promise<void>
  readonly removeBatch: (key: string) => Promise<void>
}

/** A journal that stores nothing, for a run that cannot be continued later. */
export const forgetful: Journal = {
  read: async () => ({ entries: [], batches: [] }),
  keepEntries: async () => {},
  keepBatch: async () => {},
  removeBatch: async () => {},
}
