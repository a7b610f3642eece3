/**
 * Checks one list through the API, in batches with a few in flight. Each batch has its own
 * idempotency key, so a retry is not charged again. A run stops at an error that retries cannot
 * fix, keeps its results, and can be continued.
 */
import type { FailureReason, Metrics } from "../Metrics.ts"
import { maxUrlLength, maxUrls } from "../contract/Limits.ts"
import { type Answer, type Batch, type ApiClient } from "./ApiClient.ts"
import type { Item, UrlList } from "./UrlList.ts"

/** What is checked: the addresses, and the names of the other columns of their table. */
export type List = Pick<UrlList, "items" | "others">

/** One line of the list. It is waiting while it has neither figures nor a reason. */
export interface Row {
  /** The position in the list, from 1. */
  readonly place: number
  readonly url: string
  readonly lines?: Item["lines"]
  figures?: Metrics
  reason?: Reason
}

/** Why there are no figures: the API's reasons, and TOO_LONG for a URL that was never sent. */
export type Reason = FailureReason | "TOO_LONG"

/** Why a run stopped. */
export type Halt =
  | { readonly kind: "key" }
  | { readonly kind: "credits"; readonly available: number }
  /** All retries failed. `answers` is true when the service answered with errors. */
  | { readonly kind: "server"; readonly answers: boolean }
  | { readonly kind: "offline" }
  | { readonly kind: "refused"; readonly message: string }

/** What a run is waiting for. */
export type Delay = {
  /** The time of the next attempt, in milliseconds since 1970. */
  readonly until: number
} & (
  | {
      readonly kind: "server"
      readonly attempt: number
      readonly of: number
      /** What the service said; undefined when no answer arrived. */
      readonly message: string | undefined
    }
  | { readonly kind: "rate limit" }
  /** An earlier attempt at the same batch has no answer yet. */
  | { readonly kind: "in progress" }
)

export type Status = "running" | "stopping" | "stopped" | "halted" | "done"

/** What a run needs from the page. Tests replace it. */
export interface Surroundings {
  readonly api: ApiClient
  readonly isOnline: () => boolean
  /** Resolves after the time, or when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** The time in milliseconds since 1970. */
  readonly now: () => number
  /** Called after each change of the run. */
  readonly onChange: () => void
  /** Called when a changing property is read, so that what shows it is drawn again. */
  readonly onRead: () => void
}

/** What changes during a run. */
interface State {
  status: Status
  halt: Halt | undefined
  creditsUsed: number
  checked: number
  failed: number
}

/** Rows that are sent as one request, under the same name at each retry. */
interface Parcel {
  readonly name: string
  readonly rows: ReadonlyArray<Row>
}

const maxAtOnce = 4
/** The back-off between retries: about 15 seconds in all, enough for a restart of the service. */
const delaysMs = [500, 1000, 2000, 4000, 8000]

export class Run {
  readonly startedAt = new Date()
  /** The columns of `Row.lines`. */
  readonly others: ReadonlyArray<string>

  readonly #rows: ReadonlyArray<Row>
  readonly #state: State = {
    status: "stopped",
    halt: undefined,
    creditsUsed: 0,
    checked: 0,
    failed: 0,
  }
  readonly #delays = new Map<Parcel, Delay>()
  readonly #surroundings: Surroundings
  readonly #id = randomName()
  readonly #parcels: Array<Parcel> = []
  #named = 0
  #key = ""
  #active = 0
  #width = maxAtOnce
  #pace = { at: 0, waiting: 0 }
  #stop = new AbortController()
  #abandon = new AbortController()

  constructor({ items, others }: List, surroundings: Surroundings) {
    this.#surroundings = surroundings
    this.others = others
    this.#rows = items.map((item, index) => ({ ...item, place: index + 1 }))
    const sendable = this.#rows.filter((row) => row.url.length <= maxUrlLength)
    for (const row of this.#rows) {
      if (row.url.length > maxUrlLength) this.#fail(row, "TOO_LONG")
    }
    for (let start = 0; start < sendable.length; start += maxUrls) {
      this.#parcels.push(this.#parcel(sendable.slice(start, start + maxUrls)))
    }
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

  /** The delay that ends last. */
  get delay(): Delay | undefined {
    this.#surroundings.onRead()
    return [...this.#delays.values()].sort((a, b) => b.until - a.until)[0]
  }

  get #seen(): Readonly<State> {
    this.#surroundings.onRead()
    return this.#state
  }

  /**
   * Estimated from the speed since the last start. Undefined without results, or during a delay.
   */
  get secondsLeft(): number | undefined {
    if (this.delay !== undefined) return undefined
    const { at, waiting } = this.#pace
    const ended = waiting - this.waiting
    return ended === 0
      ? undefined
      : (((this.#surroundings.now() - at) / ended) * this.waiting) / 1000
  }

  get isActive(): boolean {
    return this.status === "running" || this.status === "stopping"
  }

  /** Starts or continues the run. Does nothing while the run is active or done. */
  go(key: string) {
    if (this.isActive || this.status === "done") return
    this.#key = key
    this.#stop = new AbortController()
    this.#abandon = new AbortController()
    this.#width = maxAtOnce
    this.#pace = { at: this.#surroundings.now(), waiting: this.waiting }
    this.#state.halt = undefined
    this.#state.status = "running"
    this.#active = Math.min(maxAtOnce, this.#parcels.length)
    if (this.#active === 0) this.#end()
    for (let worker = this.#active; worker > 0; worker--) void this.#work()
    this.#surroundings.onChange()
  }

  /** Stops after the batches in flight. A second call aborts those batches as well. */
  stop() {
    if (this.status === "stopping") this.#abandon.abort()
    if (this.status === "running") this.#state.status = "stopping"
    this.#stop.abort()
    this.#surroundings.onChange()
  }

  async #work() {
    while (this.status === "running" && this.#active <= this.#width) {
      const parcel = this.#parcels.shift()
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
    if (this.#parcels.length === 0 && this.waiting === 0) {
      this.#state.halt = undefined
      this.#state.status = "done"
    } else {
      this.#state.status = this.halt === undefined ? "stopped" : "halted"
    }
  }

  async #deliver(parcel: Parcel) {
    const answer = await this.#ask(parcel)
    if (answer._tag === "Answered") return this.#keep(parcel, answer.value)
    this.#parcels.unshift(parcel)
    if (this.#abandon.signal.aborted) return
    if (answer._tag === "Lost") {
      return this.#halt(
        this.#surroundings.isOnline() ? { kind: "server", answers: false } : { kind: "offline" },
      )
    }
    switch (answer.status) {
      case 401:
        return this.#halt({ kind: "key" })
      case 402:
        return this.#spendTheRest()
      case 429:
      case 409:
        return
      default:
        return this.#halt(
          answer.status >= 500
            ? { kind: "server", answers: true }
            : { kind: "refused", message: answer.message },
        )
    }
  }

  /** Sends a batch with retries. Returns the final answer, or the last one before a stop. */
  async #ask(parcel: Parcel): Promise<Answer<Batch>> {
    for (let attempt = 1; ;) {
      const answer = await this.#surroundings.api.check({
        key: this.#key,
        name: parcel.name,
        urls: parcel.rows.map(({ url }) => url),
        signal: this.#abandon.signal,
      })
      const delay = this.#delayFor(answer, attempt)
      if (delay === undefined || this.#stop.signal.aborted) return answer
      // A 429 or a 409 shows that the service is up.
      attempt = delay.kind === "server" ? attempt + 1 : 1
      this.#delays.set(parcel, delay)
      this.#surroundings.onChange()
      await this.#surroundings.wait(delay.until - this.#surroundings.now(), this.#stop.signal)
      this.#delays.delete(parcel)
      if (this.#stop.signal.aborted) return answer
    }
  }

  /** Returns the wait before the next attempt; undefined when there is none. */
  #delayFor(answer: Answer<Batch>, attempt: number): Delay | undefined {
    if (answer._tag === "Answered") return undefined
    const now = this.#surroundings.now()
    const askedMs = answer._tag === "Refused" ? answer.retryAfterMs : undefined
    if (answer._tag === "Refused" && (answer.status === 429 || answer.status === 409)) {
      const kind = answer.status === 429 ? "rate limit" : "in progress"
      return { kind, until: now + (askedMs ?? 1000) }
    }
    const isWorthwhile = answer._tag === "Lost" || answer.status >= 500
    const backoffMs = delaysMs[attempt - 1]
    if (!isWorthwhile || !this.#surroundings.isOnline() || backoffMs === undefined) return undefined
    return {
      kind: "server",
      attempt,
      of: delaysMs.length,
      message: answer._tag === "Refused" ? answer.message : undefined,
      until: now + Math.max(backoffMs, askedMs ?? 0),
    }
  }

  #halt(halt: Halt) {
    this.#state.halt ??= halt
    if (this.status === "running") this.#state.status = "stopping"
    this.#stop.abort()
  }

  /**
   * Handles a 402. Batches in flight also hold credits, so the run first waits for them. Then it
   * sends a smaller batch, which the remaining credits can pay for.
   */
  async #spendTheRest() {
    if (this.#active > 1) {
      this.#width = 1
      return
    }
    const credits = await this.#surroundings.api.credits(this.#key)
    if (credits._tag !== "Answered") {
      return this.#halt({ kind: "server", answers: credits._tag === "Refused" })
    }
    const available = credits.value
    const parcel = this.#parcels[0]
    const size = Math.min(
      Math.floor(available / this.#price),
      // Halve the batch while the price is unknown.
      Math.floor((parcel?.rows.length ?? 0) / (this.checked === 0 ? 2 : 1)),
    )
    if (parcel === undefined || size < 1 || size === parcel.rows.length) {
      return this.#halt({ kind: "credits", available })
    }
    this.#parcels.splice(
      0,
      1,
      this.#parcel(parcel.rows.slice(0, size)),
      this.#parcel(parcel.rows.slice(size)),
    )
  }

  get #price() {
    return this.checked === 0 ? 1 : Math.max(1, this.creditsUsed / this.checked)
  }

  /** Both lists keep the order of the request, so one pass assigns them to the rows. */
  #keep({ rows }: Parcel, { data, quota }: Batch) {
    const successes = data.successUrls.values()
    const failures = data.failedUrls.values()
    let success = successes.next().value
    let failure = failures.next().value
    for (const row of rows) {
      if (success?.url === row.url) {
        const { url: _, ...figures } = success
        row.figures = figures
        this.#state.checked++
        success = successes.next().value
      } else {
        this.#fail(row, failure?.url === row.url ? failure.reason : "SERVER_ERROR")
        failure = failures.next().value
      }
    }
    this.#state.creditsUsed += quota.creditsUsed
  }

  #fail(row: Row, reason: Reason) {
    row.reason = reason
    this.#state.failed++
  }

  #parcel(rows: ReadonlyArray<Row>): Parcel {
    return { name: `${this.#id}-${++this.#named}`, rows }
  }
}

/** Not `randomUUID`, because browsers offer it only to pages that were loaded over TLS. */
const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("")
