/** The targets that wait for a call to a vendor. Accounts take turns. */
import type * as Arr from "effect/Array"
import type * as Deferred from "effect/Deferred"
import type { Outcome } from "../check/Metrics.ts"
import type { Target } from "../check/Target.ts"

export interface Waiting {
  readonly outcomes: Array<Outcome>
  readonly done: Deferred.Deferred<void>
  readonly requestId: string
  open: number
}

export interface Ticket {
  readonly target: Target
  readonly account: string
  readonly waiting: Array<{ readonly lookup: Waiting; readonly index: number }>
  deadline: number
  attempts: number
}

export type Tickets = Arr.NonEmptyReadonlyArray<Ticket>

export class Line {
  queued = 0
  private readonly batchSize: number
  private readonly accounts = new Map<string, Array<Ticket>>()
  /** The accounts whose last call failed. */
  private readonly suspects = new Set<string>()
  private readonly inFlight = new Map<string, number>()

  constructor(batchSize: number) {
    this.batchSize = batchSize
  }

  get isFull(): boolean {
    return this.queued >= this.batchSize
  }

  /** True if a call can be made now for at least one account. */
  get hasCall(): boolean {
    return [...this.accounts.keys()].some((account) => this.mayAsk(account))
  }

  lengthOf(account: string): number {
    return this.accounts.get(account)?.length ?? 0
  }

  add(ticket: Ticket): void {
    const waiting = this.accounts.get(ticket.account)
    if (waiting === undefined) this.accounts.set(ticket.account, [ticket])
    else waiting.push(ticket)
    this.queued += 1
  }

  suspect(account: string): void {
    this.suspects.add(account)
  }

  clear(account: string): void {
    this.suspects.delete(account)
  }

  private mayAsk(account: string): boolean {
    return !this.suspects.has(account) || !this.inFlight.has(account)
  }

  /**
   * Takes the targets of one call: an equal share from each account, or those of one suspect
   * account alone. `ended` must be called after the call.
   */
  take(): ReadonlyArray<Ticket> {
    const turns = [...this.accounts.keys()].filter((account) => this.mayAsk(account))
    const alone = turns.slice(0, 1).filter((account) => this.suspects.has(account))
    let asked = alone.length > 0 ? alone : turns.filter((account) => !this.suspects.has(account))
    const batch: Array<Ticket> = []
    while (batch.length < this.batchSize && asked.length > 0) {
      const share = Math.ceil((this.batchSize - batch.length) / asked.length)
      for (const account of asked) {
        const room = this.batchSize - batch.length
        if (room > 0) batch.push(...this.takeFrom(account, Math.min(share, room)))
      }
      asked = asked.filter((account) => this.accounts.has(account))
    }
    for (const account of accountsOf(batch)) {
      this.inFlight.set(account, (this.inFlight.get(account) ?? 0) + 1)
    }
    return batch
  }

  ended(batch: ReadonlyArray<Ticket>): void {
    for (const account of accountsOf(batch)) {
      const others = (this.inFlight.get(account) ?? 1) - 1
      if (others === 0) this.inFlight.delete(account)
      else this.inFlight.set(account, others)
    }
  }

  private takeFrom(account: string, max: number): ReadonlyArray<Ticket> {
    const waiting = this.accounts.get(account) ?? []
    const taken = waiting.splice(0, max)
    this.queued -= taken.length
    // Move the account to the end, so that the next one is served first.
    this.accounts.delete(account)
    if (waiting.length > 0) this.accounts.set(account, waiting)
    return taken
  }
}

export const accountsOf = (batch: ReadonlyArray<Ticket>): ReadonlySet<string> =>
  new Set(batch.map(({ account }) => account))
