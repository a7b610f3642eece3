/** The targets that wait for a call to a vendor. Accounts take turns. */
import type * as Arr from "effect/Array"
import type * as Deferred from "effect/Deferred"
import type { Outcome } from "../check/Metrics.ts"
import type { Target } from "../check/Target.ts"

/** A lookup that waits for `open` outcomes. */
export interface Waiting {
  readonly outcomes: Array<Outcome>
  readonly done: Deferred.Deferred<void>
  readonly requestId: string
  open: number
}

/** A target that is in the queue or in flight. */
export interface Ticket {
  readonly target: Target
  readonly account: string
  readonly waiting: Array<{ readonly lookup: Waiting; readonly index: number }>
  deadline: number
  attempts: number
}

export type Tickets = Arr.NonEmptyReadonlyArray<Ticket>

/** The targets that wait, by account. Accounts take turns. */
export class Line {
  queued = 0
  private readonly batchSize: number
  private readonly accounts = new Map<string, Array<Ticket>>()
  /** The accounts whose last call failed, with their calls in flight. */
  private readonly suspects = new Set<string>()
  private readonly inFlight = new Map<string, number>()

  constructor(batchSize: number) {
    this.batchSize = batchSize
  }

  get isFull(): boolean {
    return this.queued >= this.batchSize
  }

  /** True when at least one account may be asked now. */
  get hasCall(): boolean {
    for (const account of this.accounts.keys()) if (this.mayAsk(account)) return true
    return false
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
   * Takes the targets of one call from the accounts in turn; those of a suspect account alone.
   * `late` are targets that nobody waits for any more. `ended` must be called after the call.
   */
  take(now: number, isBlocked: (account: string) => boolean) {
    const batch: Array<Ticket> = []
    const blocked: Array<Ticket> = []
    const late: Array<Ticket> = []
    const takeFrom = (account: string, max: number) => {
      const waiting = this.accounts.get(account) ?? []
      this.accounts.delete(account)
      const taken = waiting.splice(0, max)
      this.queued -= taken.length
      // The account goes to the end, so that the next one is served first.
      if (waiting.length > 0) this.accounts.set(account, waiting)
      const asked = isBlocked(account) ? blocked : batch
      for (const ticket of taken) (ticket.deadline > now ? asked : late).push(ticket)
    }
    const turns = [...this.accounts.keys()].filter((account) => this.mayAsk(account))
    const [first] = turns
    if (first !== undefined && this.suspects.has(first)) takeFrom(first, this.batchSize)
    else {
      const others = turns.filter((account) => !this.suspects.has(account))
      while (
        batch.length < this.batchSize &&
        others.some((account) => this.accounts.has(account))
      ) {
        const share = Math.max(1, Math.floor((this.batchSize - batch.length) / others.length))
        for (const account of others) {
          if (batch.length < this.batchSize && this.accounts.has(account)) takeFrom(account, share)
        }
      }
    }
    const asked = new Set(batch.map(({ account }) => account))
    for (const account of asked) this.inFlight.set(account, (this.inFlight.get(account) ?? 0) + 1)
    const ended = () => {
      for (const account of asked) {
        const others = (this.inFlight.get(account) ?? 1) - 1
        if (others === 0) this.inFlight.delete(account)
        else this.inFlight.set(account, others)
      }
    }
    return { batch, blocked, late, ended }
  }
}
