/** The console's store of answers: IndexedDB, which all windows of the browser share. */
import { type DBSchema, type IDBPTransaction, openDB, type StoreNames } from "idb"
import { v4 as uuid } from "uuid"
import * as v from "valibot"
import type * as Stored from "../../lists/Answers.ts"
import { type Answers, type Payer, untaken } from "../../lists/Answers.ts"
import { Answer, Batch } from "../../lists/answerRows.ts"

interface Stores extends DBSchema {
  readonly answers: {
    readonly key: [service: string, account: string, target: string]
    readonly value: object
    readonly indexes: { readonly url: [service: string, account: string, url: string] }
  }
  readonly pending: {
    readonly key: string
    readonly value: object
    readonly indexes: { readonly payer: [service: string, account: string] }
  }
}
const stores: Array<StoreNames<Stores>> = ["answers", "pending"]

type Transaction = IDBPTransaction<Stores, Array<StoreNames<Stores>>, "readonly" | "readwrite">
type Writing = IDBPTransaction<Stores, Array<StoreNames<Stores>>, "readwrite">

/** The store, and how to empty it. */
export interface IndexedDbAnswers extends Answers {
  readonly clear: () => Promise<void>
}

/** Opens the database or creates it. Rejects when the browser refuses. */
export const open = async (name: string): Promise<IndexedDbAnswers> => {
  const db = await openDB<Stores>(name, 1, {
    upgrade: (db) => {
      const answers = { keyPath: ["service", "account", "answer.target"] }
      const url = ["service", "account", "answer.outcome.url"]
      db.createObjectStore("answers", answers).createIndex("url", url)
      const pending = { keyPath: "batch.key" }
      db.createObjectStore("pending", pending).createIndex("payer", ["service", "account"])
    },
    // A newer console in another window cannot upgrade the database until this connection closes.
    blocking: (_from, _to, { target }) => {
      if (target instanceof IDBDatabase) target.close()
    },
  })

  /** Resolves once the changes would survive a machine crash. If it rejects, nothing changed. */
  const write = async <A>(change: (transaction: Writing) => Promise<A>): Promise<A> => {
    const transaction = db.transaction(stores, "readwrite", { durability: "strict" })
    const done = transaction.done.catch((error: unknown) => ({ error }))
    const [changed] = await Promise.allSettled([change(transaction)])
    if (changed.status === "rejected") {
      if (transaction.error === null) transaction.abort()
      await done
      throw changed.reason
    }
    const ended = await done
    if (ended !== undefined) throw ended.error
    return changed.value
  }

  /** The runs of this window, and whether each is at work. */
  const own = new Map<string, boolean>()
  return {
    find: (payer, names) => lookUp(db.transaction(stores), payer, names),
    pending: (payer) => pendingOf(db.transaction(stores), payer),
    take: (payer, batch, isUsable) =>
      write(async (transaction) => {
        const targets = batch.items.map(({ target }) => target)
        const answers = await lookUp(transaction, payer, targets)
        const pending = await pendingOf(transaction, payer)
        const taken = untaken(batch, { answers, pending, isUsable })
        if (taken !== undefined)
          await transaction.objectStore("pending").put({ ...payer, batch: taken })
        return taken
      }),
    replace: (payer, { key, owner }, next) =>
      write(async (transaction) => {
        const pending = transaction.objectStore("pending")
        const row = await pending.get(key)
        if (row === undefined || v.parse(Pending, row).batch.owner !== owner) return false
        await pending.delete(key)
        if (next !== undefined) await pending.put({ ...payer, batch: next })
        return true
      }),
    keep: (payer, key, fresh) =>
      write(async (transaction) => {
        await transaction.objectStore("pending").delete(key)
        const targets = fresh.map(({ target }) => target)
        const kept = new Map(
          (await lookUp(transaction, payer, targets)).map(({ at, target }) => [target, at]),
        )
        const later = fresh.filter(({ at, target }) => at >= (kept.get(target) ?? 0))
        const answers = transaction.objectStore("answers")
        await Promise.all(later.map((answer) => answers.put({ ...payer, answer })))
      }),
    enter: async () => {
      const owner = uuid()
      own.set(owner, true)
      const release = await locked(owner)
      return {
        owner,
        leave: () => {
          own.set(owner, false)
          release()
        },
      }
    },
    isAtWork: async (owner) => own.get(owner) ?? isLocked(owner),
    clear: () =>
      write(async (transaction) => {
        await Promise.all(stores.map((store) => transaction.objectStore(store).clear()))
      }),
  }
}

const Answered = v.object({ answer: Answer })
const Pending = v.object({ batch: Batch })

/** How many answers are read at a time. */
const pieceLength = 1000

/** Reads answers in pieces, so that a long list needs no memory for answers that are not used. */
const lookUp = async (
  transaction: Transaction,
  { account, service }: Payer,
  names: ReadonlyArray<string>,
): Promise<ReadonlyArray<Stored.Answer>> => {
  const answers = transaction.objectStore("answers")
  const found = new Map<string, Stored.Answer>()
  for (let start = 0; start < names.length; start += pieceLength) {
    const rows = await Promise.all(
      names.slice(start, start + pieceLength).map(async (name) => {
        const key: [string, string, string] = [service, account, name]
        return (await answers.get(key)) ?? answers.index("url").get(key)
      }),
    )
    for (const row of rows) {
      if (row === undefined) continue
      const { answer } = v.parse(Answered, row)
      found.set(answer.target, answer)
    }
  }
  return [...found.values()]
}

const pendingOf = async (transaction: Transaction, { account, service }: Payer) => {
  const rows = await transaction.objectStore("pending").index("payer").getAll([service, account])
  return rows.map((row) => v.parse(Pending, row).batch)
}

/** Holds a browser lock, which other windows can see, until the returned function is called. */
const locked = (name: string) =>
  new Promise<() => void>((resolve) => {
    // Browsers offer no locks to a page that is loaded from another machine without TLS.
    if (!isSecureContext) return resolve(() => {})
    void navigator.locks.request(name, () => new Promise<void>((end) => resolve(() => end())))
  })

const isLocked = async (name: string) =>
  isSecureContext &&
  (await navigator.locks.query()).held?.some((lock) => lock.name === name) === true
