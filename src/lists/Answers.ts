/**
 * One user's store of the answers that were paid for and of the pending batches, which have no
 * answer yet. Pending batches lock their targets: no other run sends these targets.
 */
import { v4 as uuid } from "uuid"
import type { Failure, Success } from "../contract/Wire.ts"

/** Who paid. Nobody else may use the answers. */
export interface Payer {
  readonly service: string
  /** The name of the account, or a hash of the key if the key may not read the name. */
  readonly account: string
}

/** The latest answer for a target. `outcome.url` is the URL as it was sent. */
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

/** At most 50 targets that were sent in one request, and whose answer has not arrived. */
export interface Batch {
  /** The idempotency key of this batch alone. */
  readonly key: string
  readonly items: ReadonlyArray<Item>
  /** When the batch was first sent, in epoch milliseconds. */
  readonly sentAt: number
  /** The name of the run that sends the batch, as returned by `enter`. */
  readonly owner: string
}

/**
 * Each method is one transaction, even across processes and browser windows. A method that fails
 * rejects its promise, which stops the run. Whatever a method stored survives a crash.
 */
export interface Answers {
  /** Returns the answers whose target, or whose URL as it was sent, is one of `names`. */
  readonly find: (payer: Payer, names: ReadonlyArray<string>) => Promise<ReadonlyArray<Answer>>
  /** Returns all batches that have no answer yet. */
  readonly pending: (payer: Payer) => Promise<ReadonlyArray<Batch>>
  /**
   * Stores a batch before it is sent, without the targets that have an answer for which `isUsable`
   * is true or that belong to a pending batch. Returns what it stored, if anything.
   */
  readonly take: (
    payer: Payer,
    batch: Batch,
    isUsable: (answer: Answer) => boolean,
  ) => Promise<Batch | undefined>
  /**
   * Replaces a pending batch by `next`, or removes it. Does nothing and returns false when the
   * batch is gone or has another owner.
   */
  readonly replace: (payer: Payer, batch: Batch, next: Batch | undefined) => Promise<boolean>
  /**
   * Removes a pending batch and stores its answers, except those for which there is a later one.
   */
  readonly keep: (payer: Payer, key: string, answers: ReadonlyArray<Answer>) => Promise<void>
  /** Names a run that begins to send. It is at work until `leave` is called or its process ends. */
  readonly enter: () => Promise<{ readonly owner: string; readonly leave: () => void }>
  readonly isAtWork: (owner: string) => Promise<boolean>
}

/** Returns the part of a batch that `take` stores; undefined if nothing is left. */
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

/** What one payer has. `spellings` maps the URLs that were sent to their targets. */
interface Account {
  readonly answers: Map<string, Answer>
  readonly spellings: Map<string, string>
  readonly pending: Map<string, Batch>
}

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
