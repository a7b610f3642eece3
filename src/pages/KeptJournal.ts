/**
 * The journal of a console run: in the browser's store, and in memory. A run goes on when the
 * browser does not store its journal; then the user is warned, and the journal is stored later.
 */
import type { Batch, Entry, Journal } from "../run/Journal.ts"
import { TakenOver } from "./ListRun.ts"
import type { RunStore, StoredRun } from "./RunStore.ts"

export interface Surroundings {
  /** Undefined when the browser refuses to open its database. */
  readonly store: Promise<RunStore | undefined>
  /** Called when the browser does not store a change. */
  readonly onProblem: (error: unknown) => void
}

export class KeptJournal implements Journal {
  readonly #surroundings: Surroundings
  readonly #id: string
  #entries = new Map<string, Entry>()
  /** The entries that the store gets when the run starts. */
  #fresh: Array<Entry> = []
  #batches = new Map<string, Batch>()
  readonly #removed = new Set<string>()
  #isKept = true
  #isOwned = false

  constructor(id: string, surroundings: Surroundings) {
    this.#id = id
    this.#surroundings = surroundings
  }

  /** False when the browser's store lacks a part of the run. */
  get isKept(): boolean {
    return this.#isKept
  }

  /** Takes a stored run from other windows. */
  async own(): Promise<void> {
    await this.#keep(async (store) => {
      this.#isOwned = await store.own(this.#id)
    })
  }

  /** Stores the run, and what could not be stored before. Rejects when another window has it. */
  async claim(run: StoredRun): Promise<void> {
    const isMissed = !this.#isKept
    this.#isKept = true
    await this.#keep(async (store) => {
      await store.claim(run, this.#isOwned && !isMissed)
      const journal = store.journal(this.#id)
      await journal.keepEntries(isMissed ? [...this.#entries.values()] : this.#fresh)
      this.#fresh = []
      if (!isMissed) return
      for (const key of this.#removed) await journal.removeBatch(key)
      for (const batch of this.#batches.values()) await journal.keepBatch(batch)
    })
  }

  /** Reads what this window and others have stored. Rejects when the store cannot be read. */
  async read() {
    const store = await this.#surroundings.store
    if (store !== undefined && this.#isKept) {
      const { batches, entries } = await store.journal(this.#id).read()
      this.#entries = new Map([...entries, ...this.#fresh].map((entry) => [entry.url, entry]))
      this.#batches = new Map(batches.map((batch) => [batch.key, batch]))
    }
    return { entries: [...this.#entries.values()], batches: [...this.#batches.values()] }
  }

  async keepEntries(entries: ReadonlyArray<Entry>): Promise<void> {
    for (const entry of entries) this.#entries.set(entry.url, entry)
    this.#fresh.push(...entries)
  }

  async keepBatch(batch: Batch): Promise<void> {
    this.#batches.set(batch.key, batch)
    await this.#keep((store) => store.journal(this.#id).keepBatch(batch))
  }

  async removeBatch(key: string): Promise<void> {
    this.#batches.delete(key)
    this.#removed.add(key)
    await this.#keep((store) => store.journal(this.#id).removeBatch(key))
  }

  // After a failed write, the stored run lacks a part. A further change would not add it, so store
  // nothing until the whole run is written.
  async #keep(change: (store: RunStore) => Promise<void>) {
    const store = await this.#surroundings.store
    if (store === undefined) this.#isKept = false
    if (store === undefined || !this.#isKept) return
    try {
      await change(store)
    } catch (error) {
      if (error instanceof TakenOver) throw error
      this.#isKept = false
      this.#surroundings.onProblem(error)
    }
  }
}
