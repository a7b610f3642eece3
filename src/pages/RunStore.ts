/**
 * Stores runs in the browser's IndexedDB, so that a reload of the page loses no result that was
 * paid for: of each run its summary, its list, and the entries and batches of its journal.
 */
import {
  type DBSchema,
  type IDBPDatabase,
  type IDBPTransaction,
  openDB,
  type StoreNames,
} from "idb"
import * as v from "valibot"
import { Batch, Entry, type Journal } from "../run/Journal.ts"
import { KeptList, Summary } from "./KeptRun.ts"
import { TakenOver } from "./ListRun.ts"

export interface StoredRun {
  readonly summary: Summary
  readonly list: KeptList
}

/** The methods reject when the browser's database fails. */
export interface RunStore {
  /** Returns the summaries of all runs, and the number of summaries that cannot be read. */
  readonly list: () => Promise<{
    readonly summaries: ReadonlyArray<Summary>
    readonly unreadable: number
  }>
  /** Returns a run; undefined when it is missing, incomplete or not readable. */
  readonly load: (id: string) => Promise<StoredRun | undefined>
  /** The journal of a run. A new batch rejects with TakenOver when another window has the run. */
  readonly journal: (id: string) => Journal
  /** Takes a run from every other window. Resolves to false for a run that is not stored. */
  readonly own: (id: string) => Promise<boolean>
  /**
   * Stores a run with its list, and takes it from every other window. With `isOwned`, rejects with
   * TakenOver when another window has taken or deleted the run.
   */
  readonly claim: (run: StoredRun, isOwned: boolean) => Promise<void>
  /** Stores the summary of a run that is still stored. */
  readonly keepSummary: (summary: Summary) => Promise<void>
  readonly remove: (id: string) => Promise<void>
  readonly clear: () => Promise<void>
}

interface Stores extends DBSchema {
  readonly runs: { readonly key: string; readonly value: unknown }
  readonly lists: { readonly key: string; readonly value: unknown }
  /** The window that may pay for a run. */
  readonly owners: { readonly key: string; readonly value: unknown }
  readonly entries: { readonly key: [id: string, first: string]; readonly value: unknown }
  readonly batches: { readonly key: [id: string, key: string]; readonly value: unknown }
  /** The rows of version 1.0, which this version only deletes. */
  readonly parcels: { readonly key: [string, number]; readonly value: unknown }
}
const names = ["runs", "lists", "owners", "entries", "batches", "parcels"] as const

type Writing = IDBPTransaction<Stores, Array<StoreNames<Stores>>, "readwrite">

// The version of the database layout. Increase it with each change, and add the upgrade from every
// earlier version.
const version = 2

/** `owner` is a name of this window that no other window has. */
export const open = async (name: string, owner: string): Promise<RunStore> => {
  const db = await connect(name)
  return {
    list: async () => {
      const all = await db.getAll("runs")
      const summaries = all.flatMap((value) => {
        const read = v.safeParse(Summary, value)
        return read.success ? [read.output] : []
      })
      return { summaries, unreadable: all.length - summaries.length }
    },
    load: async (id) => {
      const transaction = db.transaction(["runs", "lists"])
      const [summary, list] = await Promise.all([
        transaction.objectStore("runs").get(id),
        transaction.objectStore("lists").get(id),
      ])
      const read = v.safeParse(v.object({ summary: Summary, list: KeptList }), { summary, list })
      return read.success ? read.output : undefined
    },
    journal: (id) => journal(db, owner, id),
    own: async (id) => {
      let isStored = false
      await write(db, async (transaction) => {
        isStored = (await transaction.objectStore("runs").count(id)) > 0
        if (isStored) await transaction.objectStore("owners").put(owner, id)
      })
      return isStored
    },
    claim: ({ list, summary }, isOwned) =>
      write(db, async (transaction) => {
        const owners = transaction.objectStore("owners")
        if (isOwned && (await owners.get(summary.id)) !== owner) throw new TakenOver()
        await transaction.objectStore("runs").put(summary, summary.id)
        await transaction.objectStore("lists").put(list, summary.id)
        await owners.put(owner, summary.id)
      }),
    keepSummary: (summary) =>
      write(db, async (transaction) => {
        const runs = transaction.objectStore("runs")
        if ((await runs.count(summary.id)) > 0) await runs.put(summary, summary.id)
      }),
    remove: (id) =>
      write(db, (transaction) =>
        Promise.all([
          ...(["runs", "lists", "owners"] as const).map((name) =>
            transaction.objectStore(name).delete(id),
          ),
          ...(["entries", "batches", "parcels"] as const).map((name) =>
            transaction.objectStore(name).delete(partsOf(id)),
          ),
        ]),
      ),
    clear: () =>
      write(db, (transaction) =>
        Promise.all(names.map((name) => transaction.objectStore(name).clear())),
      ),
  }
}

const connect = (name: string) =>
  openDB<Stores>(name, version, {
    upgrade: (db) => {
      for (const name of names) {
        if (!db.objectStoreNames.contains(name)) db.createObjectStore(name)
      }
    },
    // A newer console in another tab cannot upgrade the database until this connection closes.
    blocking: (_from, _to, { target }) => {
      if (target instanceof IDBDatabase) target.close()
    },
  })

/** Resolves when the changes survive a crash of the machine. */
const write = async (
  db: IDBPDatabase<Stores>,
  change: (transaction: Writing) => Promise<unknown>,
) => {
  const transaction: Writing = db.transaction([...names], "readwrite", { durability: "strict" })
  const [changed] = await Promise.allSettled([change(transaction)])
  await transaction.done
  if (changed.status === "rejected") throw changed.reason
}

const journal = (db: IDBPDatabase<Stores>, owner: string, id: string): Journal => ({
  read: async () => {
    const transaction = db.transaction(["entries", "batches"])
    const [entries, batches] = await Promise.all([
      transaction.objectStore("entries").getAll(partsOf(id)),
      transaction.objectStore("batches").getAll(partsOf(id)),
    ])
    return {
      entries: v.parse(v.array(v.array(Entry)), entries).flat(),
      batches: v.parse(v.array(Batch), batches),
    }
  },
  keepEntries: (entries) => write(db, (transaction) => putEntries(transaction, id, entries)),
  keepBatch: (batch) =>
    write(db, async (transaction) => {
      const isOwn = (await transaction.objectStore("owners").get(id)) === owner
      if (!isOwn && batch.answer === undefined) throw new TakenOver()
      await transaction.objectStore("batches").put(batch, [id, batch.key])
    }),
  removeBatch: (key) =>
    write(db, (transaction) => transaction.objectStore("batches").delete([id, key])),
})

/** The keys of all parts of a run: an array is greater than any text or number. */
const partsOf = (id: string) => IDBKeyRange.bound([id], [id, []])

const putEntries = async (transaction: Writing, id: string, entries: ReadonlyArray<Entry>) => {
  const [first] = entries
  if (first !== undefined) await transaction.objectStore("entries").put(entries, [id, first.url])
}
