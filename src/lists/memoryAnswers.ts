/** The store of answers in memory. */
import { v4 as uuid } from "uuid"
import { type Answer, type Answers, type Batch, type Payer, untaken } from "./Answers.ts"

/** What one payer has. `spellings` has the targets of the URLs that were sent. */
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
