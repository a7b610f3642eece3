/**
 * The store of one user: the answers that were paid for, and the batches that have no answer yet.
 * The pending batches are the lock between runs: a target of a pending batch is sent by nobody else.
 */
import { v4 as uuid } from "uuid"
import type { Failure, Success } from "../contract/Wire.ts"

/** Who paid. An answer belongs to nobody else. */
export interface Payer {
  /** The base URL of the service. */
  readonly service: string
  /** The name of the account, or a hash of a key that may not read it. */
  readonly account: string
}

/** The latest answer for a target. `outcome.url` is the spelling that was sent. */
export interface Answer {
  readonly target: string
  readonly outcome: Success | Failure
  /** When the service answered, in epoch milliseconds. */
  readonly at: number
  readonly requestId?: string
}

export interface Item {
  readonly url: string
  readonly target: string
}

/** At most 50 targets, sent in one request, whose answer has not arrived. */
export interface Batch {
  /** The idempotency key of the batch, which belongs to no other batch. */
  readonly key: string
  readonly items: ReadonlyArray<Item>
  /** When the batch was sent for the first time, in epoch milliseconds. */
  readonly sentAt: number
  /** The name of the run that sends the batch, from `enter`. */
  readonly owner: string
}

/**
 * Each method is one transaction, also between processes and windows. A method that fails rejects,
 * and the run then stops. What a method stored survives a crash.
 */
export interface Answers {
  /** Returns the answers whose target, or whose URL as it was sent, is one of `names`. */
  readonly find: (payer: Payer, names: ReadonlyArray<string>) => Promise<ReadonlyArray<Answer>>
  /** Returns all batches without an answer. */
  readonly pending: (payer: Payer) => Promise<ReadonlyArray<Batch>>
  /**
   * Stores a batch before it is sent, but only those of its targets that have no answer for which
   * `isUsable` is true, and that no pending batch has. Returns what it stored: see `untaken`.
   */
  readonly take: (
    payer: Payer,
    batch: Batch,
    isUsable: (answer: Answer) => boolean,
  ) => Promise<Batch | undefined>
  /**
   * Puts `next` in the place of a pending batch, or removes the batch. Does nothing and returns
   * false when the batch is gone or has another owner.
   */
  readonly replace: (payer: Payer, batch: Batch, next: Batch | undefined) => Promise<boolean>
  /** Removes a pending batch and stores its answers, each unless there is a later one. */
  readonly keep: (payer: Payer, key: string, answers: ReadonlyArray<Answer>) => Promise<void>
  /** Names a run that begins to send. The run is at work until `leave`, or the end of its process. */
  readonly enter: () => Promise<{ readonly owner: string; readonly leave: () => void }>
  readonly isAtWork: (owner: string) => Promise<boolean>
}

/** The part of a batch that `take` stores; undefined for none. */
export const untaken = (
  batch: Batch,
  stored: {
    readonly answers: ReadonlyArray<Answer>
    readonly pending: ReadonlyArray<Batch>
    readonly isUsable: (answer: Answer) => boolean
  },
): Batch | undefined => {
  const taken = targetsOf(stored.pending)
  for (const answer of stored.answers) if (stored.isUsable(answer)) taken.add(answer.target)
  const items = batch.items.filter(({ target }) => !taken.has(target))
  return items.length === 0 ? undefined : { ...batch, items }
}

export const targetsOf = (batches: Iterable<Batch>): Set<string> =>
  new Set([...batches].flatMap(({ items }) => items.map(({ target }) => target)))

/** What one payer has. `spellings` has the targets of the URLs that were sent. */
interface Account {
  readonly answers: Map<string, Answer>
  readonly spellings: Map<string, string>
  readonly pending: Map<string, Batch>
}

/** A store of answers in memory. */
export const memoryAnswers = (): Answers => {
  const accounts = new Map<string, Account>()
  const atWork = new Set<string>()
  const of = ({ account, service }: Payer) => {
    const name = JSON.stringify([service, account])
    const known = accounts.get(name)
    if (known !== undefined) return known
    const fresh = { answers: new Map(), spellings: new Map(), pending: new Map() }
    accounts.set(name, fresh)
    return fresh
  }
  const find = ({ answers, spellings }: Account, names: ReadonlyArray<string>) => [
    ...new Set(names.flatMap((name) => answers.get(spellings.get(name) ?? name) ?? [])),
  ]
  return {
    find: async (payer, names) => find(of(payer), names),
    pending: async (payer) => [...of(payer).pending.values()],
    take: async (payer, batch, isUsable) => {
      const account = of(payer)
      const targets = batch.items.map(({ target }) => target)
      const pending = [...account.pending.values()]
      const taken = untaken(batch, { answers: find(account, targets), pending, isUsable })
      if (taken !== undefined) account.pending.set(taken.key, taken)
      return taken
    },
    replace: async (payer, { key, owner }, next) => {
      const { pending } = of(payer)
      if (pending.get(key)?.owner !== owner) return false
      pending.delete(key)
      if (next !== undefined) pending.set(next.key, next)
      return true
    },
    keep: async (payer, key, fresh) => {
      const { answers, pending, spellings } = of(payer)
      for (const answer of fresh) {
        if ((answers.get(answer.target)?.at ?? 0) > answer.at) continue
        answers.set(answer.target, answer)
        spellings.set(answer.outcome.url, answer.target)
      }
      pending.delete(key)
    },
    enter: async () => {
      const owner = uuid()
      atWork.add(owner)
      return { owner, leave: () => void atWork.delete(owner) }
    },
    isAtWork: async (owner) => atWork.has(owner),
  }
}
