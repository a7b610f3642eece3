/**
 * The targets that requests wait for: queued, or sent to the vendor. A target that several requests
 * look up has one ticket.
 */
import type * as Arr from "effect/Array"
import { broken, failed, type Outcome } from "../Metrics.ts"
import type { Target } from "../Target.ts"
import type { Blame } from "./Blame.ts"
import type { Cached } from "./Cached.ts"
import { FairQueue, type Taken } from "./FairQueue.ts"
import type { Meters } from "../telemetry/ProviderMeters.ts"

/** A target that is queued or sent, and the requests that wait for it. */
export interface Ticket {
  readonly target: Target
  readonly waiting: Array<Place>
  isSent: boolean
}

/** The tickets of one call. */
export type Batch = Arr.NonEmptyReadonlyArray<Ticket>

/** Where to deliver a ticket's outcome: index `at` in the request's outcomes. */
interface Place {
  readonly request: WaitingLookup
  readonly at: number
}

/** A lookup that waits for outcomes. Each lookup belongs to one request. */
export interface WaitingLookup {
  readonly account: string
  /** The lookup ends at this time of `MonotonicClock` at the latest. */
  readonly deadline: number
  /** The value of `Freshness`. */
  readonly maxAgeMs: number
  readonly targets: ReadonlyArray<Target>
  readonly outcomes: Array<Outcome>
  /** Number of outcomes that have not arrived. */
  open: number
  readonly end: () => void
}

/** A call in flight, and when it began. */
interface Call {
  readonly owners: ReadonlySet<string>
  readonly at: number
}

interface Options {
  /** Maximum number of unsent targets for one account. Further targets fail with SERVER_ERROR. */
  readonly lineCapacity: number
  readonly blame: Blame
  readonly meters: Pick<Meters, "coalesced">
  readonly recall?: Cached["recall"]
}

export class Tickets {
  private readonly byPage = new Map<string, Ticket>()
  private readonly queue: FairQueue<Ticket>
  /** The calls in flight. */
  private readonly calls = new Set<Call>()
  private readonly options: Options
  private isClosed = false

  constructor(options: Options) {
    this.options = options
    this.queue = new FairQueue(options.lineCapacity)
  }

  get queued(): number {
    return this.queue.size
  }

  /** Adds the targets of a request. `now` is a time of `MonotonicClock`. */
  add(request: WaitingLookup, now: number): void {
    request.targets.forEach((target, at) => this.join({ request, at }, target, now))
  }

  private join(place: Place, target: Target, now: number): void {
    if (this.isClosed) return give(place, broken)
    const { account, maxAgeMs } = place.request
    const known = this.byPage.get(target.page)
    if (known === undefined) {
      const { blame, recall } = this.options
      // A call may have fetched the target after the lookup missed it in the cache.
      const outcome = recall?.(target, maxAgeMs) ?? blame.verdict(target.page, account, now)
      if (outcome !== undefined) return give(place, outcome)
    }
    const ticket = known ?? { target, waiting: [], isSent: false }
    const isQueued = !ticket.isSent && this.queue.offer(account, ticket)
    if (known !== undefined) this.options.meters.coalesced(1)
    else if (isQueued) this.byPage.set(target.page, ticket)
    else return give(place, crowded)
    ticket.waiting.push(place)
  }

  /** Removes a request. Targets that no other request waits for leave the queue. */
  remove(request: WaitingLookup): void {
    if (request.open === 0) return
    for (const { page } of request.targets) {
      const ticket = this.byPage.get(page)
      const at = ticket?.waiting.findIndex((place) => place.request === request) ?? -1
      if (ticket === undefined || at < 0) continue
      ticket.waiting.splice(at, 1)
      if (ticket.waiting.length > 0 || ticket.isSent) continue
      this.queue.remove(ticket)
      this.byPage.delete(page)
    }
  }

  /** When the latest of the calls in flight began. */
  get latestCall(): number {
    return Math.max(...Array.from(this.calls, ({ at }) => at))
  }

  /**
   * Takes the tickets of the next call. An account apart has one call in flight, so that its slow
   * failures leave the other calls to others. A spare call is only for accounts that have no call
   * in flight. Call `end` when the call has ended.
   */
  take(count: number, now: number, isSpare: boolean): Taken<Ticket> & { readonly end: () => void } {
    const { blame } = this.options
    const hasCall = (owner: string) => {
      for (const { owners } of this.calls) if (owners.has(owner)) return true
      return false
    }
    const taken = this.queue.take(count, {
      isApart: (owner) => blame.isApart(owner, now),
      isBusy: (owner) => (isSpare || blame.isApart(owner, now)) && hasCall(owner),
    })
    for (const ticket of taken.items) ticket.isSent = true
    const call = { owners: taken.owners, at: now }
    if (taken.items.length > 0) this.calls.add(call)
    return { ...taken, end: () => this.calls.delete(call) }
  }

  /** Puts tickets into the queue again. Forgets those that no request waits for. */
  putBack(batch: ReadonlyArray<Ticket>): void {
    for (const ticket of batch) {
      const accounts = new Set(ticket.waiting.map(({ request }) => request.account))
      const offered = Array.from(accounts, (account) => this.queue.offer(account, ticket))
      ticket.isSent = false
      if (!offered.includes(true)) this.answer(ticket, crowded)
    }
  }

  answer(ticket: Ticket, outcome: Outcome): void {
    const { page } = ticket.target
    if (this.byPage.get(page) === ticket) this.byPage.delete(page)
    for (const place of ticket.waiting) give(place, outcome)
    ticket.waiting.length = 0
  }

  answerAll(batch: Batch, outcome: Outcome): void {
    batch.forEach((ticket) => this.answer(ticket, outcome))
  }

  /** Ends all requests. Requests after that end at once. */
  close(): void {
    this.isClosed = true
    for (const ticket of this.byPage.values()) this.answer(ticket, broken)
  }
}

const give = ({ at, request }: Place, outcome: Outcome) => {
  request.outcomes[at] = outcome
  request.open -= 1
  if (request.open === 0) request.end()
}

const crowded = failed(
  "SERVER_ERROR",
  "too many URLs of this account already wait for the provider",
)
