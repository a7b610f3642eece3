/**
 * Checks one list through the API, with up to `maxAtOnce` batches in flight. Each batch has its own
 * idempotency key, so a retry is not charged again. A run stops at an error that retries cannot
 * fix, keeps its results, and can be continued.
 */
import { v4 as uuid } from "uuid"
import {
  type AnyClientError,
  type AuthorityMetrics,
  type CheckResult,
  isClientError,
  type Options,
} from "../client/PromiseClient.ts"
import type { Change, KeptRun, Summary } from "./KeptRun.ts"
import { cut, type Parcel, Parcels } from "./Parcels.ts"
import { fill, type Row } from "./Row.ts"
import type { UrlList } from "./UrlList.ts"

/** The list to check: the URLs, and the names of all columns except the column with the URLs. */
export type List = Pick<UrlList, "items" | "others">

/** Why a run stopped. */
export type Halt =
  | { readonly kind: "key" }
  | { readonly kind: "credits"; readonly available: number }
  /**
   * The service failed. `answers` is true when the service answered the last attempt with an error,
   * and false when no answer of the service arrived.
   */
  | { readonly kind: "server"; readonly answers: boolean }
  | { readonly kind: "offline" }
  | { readonly kind: "refused"; readonly message: string }

export type Status = "running" | "stopping" | "stopped" | "halted" | "done"

/** The wait of a batch before it is sent again. */
export interface Delay {
  /** The time of the next attempt, in epoch milliseconds. */
  readonly until: number
  readonly error: AnyClientError
}

/** The functions that a run calls outside this module. Tests pass their own. */
export interface Surroundings {
  readonly client: (
    options: Pick<Options, "apiKey" | "onRetry">,
  ) => Pick<AuthorityMetrics, "check" | "availableCredits">
  readonly isOnline: () => boolean
  /** Stores a change, so that it survives a reload of the page. Never rejects. */
  readonly keep: (change: Change) => Promise<void>
  /** Called after each change of the run. */
  readonly onChange: () => void
  /**
   * Called on each read of a property that changes during the run. A component that reads such a
   * property subscribes to the changes and is redrawn after them.
   */
  readonly onRead: () => void
}

/** The properties of a run that change while it runs. */
interface State {
  status: Status
  halt: Halt | undefined
  creditsUsed: number
  checked: number
  failed: number
}

/** A batch in flight. `delay` is the wait before its latest attempt. */
interface Call {
  readonly controller: AbortController
  delay?: Delay
}

const maxAtOnce = 4

export class Run {
  readonly startedAt: Date
  /**
   * The names of the columns of the user's table, except the column with the URLs. Each array in
   * `Row.lines` has one cell for each name.
   */
  readonly others: ReadonlyArray<string>

  readonly #rows: ReadonlyArray<Row>
  readonly #state: State = {
    status: "stopped",
    halt: undefined,
    creditsUsed: 0,
    checked: 0,
    failed: 0,
  }
  readonly #calls = new Set<Call>()
  readonly #surroundings: Surroundings
  readonly id: string
  /** Credits that the run had used before the page was loaded. */
  readonly #creditsBefore: number
  readonly #parcels: Parcels
  #kept: Promise<void> | undefined
  #key = ""
  #active = 0
  #width = maxAtOnce
  #pace = { at: 0, waiting: 0 }

  /** Makes a run for a new list and stores it. */
  static of({ items, others }: List, surroundings: Surroundings): Run {
    const rows = items.map((item, index): Row => ({ ...item, place: index + 1 }))
    const facts = { id: uuid(), startedAt: Date.now(), creditsUsed: 0, others }
    const run = new Run(facts, cut(rows), surroundings)
    run.keepAll()
    return run
  }

  /** Makes a run from its stored form. It can be continued, and no batch is charged twice. */
  static from({ parcels, summary }: KeptRun, surroundings: Surroundings): Run {
    return new Run(summary, parcels, surroundings)
  }

  private constructor(
    facts: Pick<Summary, "id" | "startedAt" | "creditsUsed"> & Pick<List, "others">,
    parcels: ReadonlyArray<Parcel>,
    surroundings: Surroundings,
  ) {
    this.#surroundings = surroundings
    this.id = facts.id
    this.startedAt = new Date(facts.startedAt)
    this.others = facts.others
    this.#creditsBefore = facts.creditsUsed
    this.#state.creditsUsed = facts.creditsUsed
    this.#rows = parcels.flatMap(({ rows }) => rows).sort((a, b) => a.place - b.place)
    this.#count(this.#rows)
    this.#parcels = new Parcels(parcels)
    if (this.waiting === 0) this.#state.status = "done"
  }

  /** Stores the whole run, including changes that could not be stored before. */
  keepAll() {
    const change = { summary: this.summary, parcels: this.#parcels.all, isWhole: true }
    this.#kept = this.#surroundings.keep(change)
  }

  get summary(): Summary {
    return {
      id: this.id,
      startedAt: this.startedAt.getTime(),
      total: this.#rows.length,
      checked: this.checked,
      failed: this.failed,
      creditsUsed: this.creditsUsed,
      others: [...this.others],
    }
  }

  get creditsOfVisit(): number {
    return this.creditsUsed - this.#creditsBefore
  }

  get rows(): ReadonlyArray<Row> {
    this.#surroundings.onRead()
    return this.#rows
  }

  get status(): Status {
    return this.#seen.status
  }

  get halt(): Halt | undefined {
    return this.#seen.halt
  }

  get creditsUsed(): number {
    return this.#seen.creditsUsed
  }

  get checked(): number {
    return this.#seen.checked
  }

  get failed(): number {
    return this.#seen.failed
  }

  get waiting(): number {
    return this.#rows.length - this.checked - this.failed
  }

  /**
   * The delay that ends last, of all batches that wait for a retry; undefined when no batch waits
   * for a retry.
   */
  get delay(): Delay | undefined {
    this.#surroundings.onRead()
    return [...this.#calls].flatMap(({ delay = [] }) => delay).sort((a, b) => b.until - a.until)[0]
  }

  get #seen(): Readonly<State> {
    this.#surroundings.onRead()
    return this.#state
  }

  /**
   * The seconds until the run is done, estimated from its speed since it was started or continued.
   * Undefined while no results have arrived since then, and while a batch waits for a retry.
   */
  get secondsLeft(): number | undefined {
    if (this.delay !== undefined) return undefined
    const { at, waiting } = this.#pace
    const ended = waiting - this.waiting
    return ended === 0 ? undefined : (((Date.now() - at) / ended) * this.waiting) / 1000
  }

  get isActive(): boolean {
    return this.status === "running" || this.status === "stopping"
  }

  /** Starts or continues the run. Does nothing while the run is active or done. */
  go(key: string) {
    if (this.isActive || this.status === "done") return
    this.#key = key
    this.#width = maxAtOnce
    this.#pace = { at: Date.now(), waiting: this.waiting }
    this.#state.halt = undefined
    this.#state.status = "running"
    this.#active = maxAtOnce
    for (let worker = 0; worker < maxAtOnce; worker++) void this.#work()
    this.#surroundings.onChange()
  }

  /** Stops when the batches in flight have ended. A second call aborts the batches in flight. */
  stop() {
    this.#endCalls(this.status === "stopping")
    this.#surroundings.onChange()
  }

  /** Sends no further batch. Aborts the batches that wait for a retry, or all batches in flight. */
  #endCalls(areAllAborted = false) {
    if (this.status === "running") this.#state.status = "stopping"
    const now = Date.now()
    for (const { controller, delay } of this.#calls) {
      if (areAllAborted || (delay?.until ?? 0) > now) controller.abort()
    }
  }

  async #work() {
    while (this.status === "running" && this.#active <= this.#width) {
      const parcel = this.#parcels.take()
      if (parcel === undefined) break
      await this.#deliver(parcel)
      this.#surroundings.onChange()
    }
    this.#active--
    if (this.#active === 0) this.#end()
    this.#surroundings.onChange()
  }

  #end() {
    this.#key = ""
    if (this.waiting === 0) {
      this.#state.halt = undefined
      this.#state.status = "done"
    } else {
      this.#state.status = this.halt === undefined ? "stopped" : "halted"
    }
  }

  async #deliver(parcel: Parcel) {
    // Before sending the batch, wait until the browser has stored it with its idempotency key. After
    // a reload, the page sends the batch with the same key, so the batch is not charged twice.
    await this.#kept
    if (this.status !== "running") return void this.#parcels.putBack(parcel)
    try {
      this.#keep(parcel, await this.#ask(parcel))
    } catch (error) {
      this.#parcels.putBack(parcel)
      await this.#fail(parcel, error)
    }
  }

  async #ask(parcel: Parcel): Promise<CheckResult> {
    const call: Call = { controller: new AbortController() }
    const { signal } = call.controller
    const client = this.#surroundings.client({
      apiKey: this.#key,
      onRetry: (error, waitMs) => {
        if (!this.#surroundings.isOnline()) throw error
        if (this.status !== "running") call.controller.abort()
        call.delay = { error, until: Date.now() + waitMs }
        this.#surroundings.onChange()
      },
    })
    this.#calls.add(call)
    try {
      const urls = parcel.rows.map(({ url }) => url)
      return await client.check(urls, { idempotencyKey: `${this.id}-${parcel.number}`, signal })
    } finally {
      this.#calls.delete(call)
    }
  }

  async #fail(parcel: Parcel, error: unknown): Promise<void> {
    // The run has aborted the batch.
    if (!isClientError(error)) return this.#endCalls()
    switch (error._tag) {
      case "Unauthorized":
        return this.#halt({ kind: "key" })
      case "InsufficientCredits":
        return this.#spendTheRest(parcel)
      case "ConnectionFailed":
      case "TimedOut":
        return this.#halt(
          this.#surroundings.isOnline() ? { kind: "server", answers: false } : { kind: "offline" },
        )
      case "ServiceFailed":
        return this.#halt({ kind: "server", answers: true })
      default:
        return this.#halt({ kind: "refused", message: error.message })
    }
  }

  #halt(halt: Halt) {
    this.#state.halt ??= halt
    this.#endCalls()
  }

  /**
   * Handles a 402. Batches in flight also hold credits, so the run waits for their answers. Then it
   * sends a smaller batch that the remaining credits can pay for.
   */
  async #spendTheRest(parcel: Parcel): Promise<void> {
    if (this.#active > 1) {
      this.#width = 1
      return
    }
    let available: number
    try {
      available = await this.#surroundings.client({ apiKey: this.#key }).availableCredits()
    } catch (error) {
      return this.#fail(parcel, error)
    }
    const size = Math.min(
      Math.floor(available / this.#price),
      // While no URL of the run is checked, the price of a check is unknown: try at most half of
      // the batch.
      Math.floor(parcel.rows.length / (this.checked === 0 ? 2 : 1)),
    )
    if (size < 1 || size === parcel.rows.length) {
      return this.#halt({ kind: "credits", available })
    }
    const parts = this.#parcels.split(parcel, size)
    this.#keepParcels(parts, parcel.number)
  }

  #keepParcels(parcels: ReadonlyArray<Parcel>, removed?: number) {
    const change = { summary: this.summary, parcels, isWhole: false }
    this.#kept = this.#surroundings.keep(removed === undefined ? change : { ...change, removed })
  }

  get #price() {
    return this.checked === 0 ? 1 : Math.max(1, this.creditsUsed / this.checked)
  }

  #keep(parcel: Parcel, { creditsUsed, outcomes }: CheckResult) {
    fill(parcel.rows, outcomes)
    this.#count(parcel.rows)
    this.#state.creditsUsed += creditsUsed
    this.#keepParcels([parcel])
  }

  #count(rows: ReadonlyArray<Row>) {
    for (const { figures, reason } of rows) {
      if (figures !== undefined) this.#state.checked++
      else if (reason !== undefined) this.#state.failed++
    }
  }
}
