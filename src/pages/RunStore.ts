/**
 * Stores runs in the browser's IndexedDB, so that a reload of the page loses no result that was
 * paid for. Each run is stored as one summary and one record for each parcel, which is a group of
 * rows. The API key is never stored.
 */
import { type DBSchema, openDB } from "idb"
import * as v from "valibot"
import { type Change, type KeptRun, readRun, Summary } from "./KeptRun.ts"

/** The methods reject when the browser's database fails. */
export interface RunStore {
  /** Returns the summaries of all runs, and the number of summaries that cannot be read. */
  readonly list: () => Promise<{
    readonly summaries: ReadonlyArray<Summary>
    readonly unreadable: number
  }>
  /** Returns a run; undefined when it is missing, incomplete or not readable. */
  readonly load: (id: string) => Promise<KeptRun | undefined>
  readonly keep: (change: Change) => Promise<void>
  readonly remove: (id: string) => Promise<void>
  readonly clear: () => Promise<void>
}

interface Stores extends DBSchema {
  readonly runs: { readonly key: string; readonly value: unknown }
  readonly parcels: { readonly key: [string, number]; readonly value: unknown }
}

// The version of the database layout. Increase it with each change, and add the upgrade from every
// earlier version.
const version = 1

export const open = async (name: string): Promise<RunStore> => {
  const db = await openDB<Stores>(name, version, {
    upgrade: (db, from) => {
      if (from >= 1) return
      db.createObjectStore("runs")
      db.createObjectStore("parcels")
    },
    // A newer console in another tab cannot upgrade the database until this connection closes.
    blocking: (_from, _to, { target }) => {
      if (target instanceof IDBDatabase) target.close()
    },
  })
  const parcelsOf = (id: string) => IDBKeyRange.bound([id, 0], [id, Infinity])
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
      const transaction = db.transaction(["runs", "parcels"])
      const [summary, parcels] = await Promise.all([
        transaction.objectStore("runs").get(id),
        transaction.objectStore("parcels").getAll(parcelsOf(id)),
      ])
      return readRun({ summary, parcels })
    },
    keep: async ({ parcels, removed, summary }) => {
      const transaction = db.transaction(["runs", "parcels"], "readwrite")
      const store = transaction.objectStore("parcels")
      await Promise.all([
        transaction.objectStore("runs").put(summary, summary.id),
        ...(removed === undefined ? [] : [store.delete([summary.id, removed])]),
        ...parcels.map((parcel) => store.put(parcel, [summary.id, parcel.number])),
        transaction.done,
      ])
    },
    remove: async (id) => {
      const transaction = db.transaction(["runs", "parcels"], "readwrite")
      await Promise.all([
        transaction.objectStore("runs").delete(id),
        transaction.objectStore("parcels").delete(parcelsOf(id)),
        transaction.done,
      ])
    },
    clear: async () => {
      const transaction = db.transaction(["runs", "parcels"], "readwrite")
      await Promise.all([
        transaction.objectStore("runs").clear(),
        transaction.objectStore("parcels").clear(),
        transaction.done,
      ])
    },
  }
}
