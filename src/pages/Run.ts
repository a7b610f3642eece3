/**
 * Checks one list through the API, in batches with a few in flight. Each batch has its own
 * idempotency key, so a retry is not charged again. A run stops at an error that retries cannot
 * fix, keeps its results, and can be continued.
 */
import type { FailureReason, Metrics } from "../Metrics.ts"
import { maxUrlLength, maxUrls } from "../contract/Limits.ts"
import { type Answer, type Batch, type ApiClient } from "./ApiClient.ts"

/** One line of the list. It is waiting while it has neither figures nor a reason. */
export interface Row {
  /** The position in the list, from 1. */
  readonly place: number
  readonly url: string
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
export type Delay =
  | { readonly kind: "server"; readonly attempt: number; readonly of: number }
  | { readonly kind: "rate limit"; readonly seconds: number }
  /** An earlier attempt at the same batch has no answer yet. */
  | { readonly kind: "in progress"; readonly seconds: number }

export type Status = "running" | "stopping" | "stopped" | "halted" | "done"

/** What a run needs from the page. Tests replace it. */
export interface Surroundings {
  readonly api: ApiClient
  readonly isOnline: () => boolean
  /** Resolves after the time, or when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** Called after each change of the run. */
  readonly onChange: () => void
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
  readonly rows: ReadonlyArray<Row>
  status: Status = "stopped"
  halt: Halt | undefined
  delay: Delay | undefined
  creditsUsed = 0
  checked = 0
  failed = 0

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

  constructor(urls: ReadonlyArray<string>, surroundings: Surroundings) {
    this.#surroundings = surroundings
    this.rows = urls.map((url, index) => ({ place: index + 1, url }))
    const sendable = this.rows.filter((row) => row.url.length <= maxUrlLength)
    for (const row of this.rows) {
      if (row.url.length > maxUrlLength) this.#fail(row, "TOO_LONG")
    }
    for (let start = 0; start < sendable.length; start += maxUrls) {
      this.#parcels.push(this.#parcel(sendable.slice(start, start + maxUrls)))
    }
  }

  get waiting(): number {
    return this.rows.length - this.checked - this.failed
  }

  /**
   * Estimated from the speed since the last start. Undefined without results, or during a delay.
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
    this.#stop = new AbortController()
    this.#abandon = new AbortController()
    this.#width = maxAtOnce
    this.#pace = { at: Date.now(), waiting: this.waiting }
    this.halt = undefined
    this.status = "running"
    this.#active = Math.min(maxAtOnce, this.#parcels.length)
    if (this.#active === 0) this.#end()
    for (let worker = this.#active; worker > 0; worker--) void this.#work()
    this.#surroundings.onChange()
  }

  /** Stops after the batches in flight. A second call aborts those batches as well. */
  stop() {
    if (this.status === "stopping") this.#abandon.abort()
    if (this.status === "running") this.status = "stopping"
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
    this.delay = undefined
    this.#key = ""
    if (this.#parcels.length === 0 && this.waiting === 0) {
      this.halt = undefined
      this.status = "done"
    } else {
      this.status = this.halt === undefined ? "stopped" : "halted"
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
  async #ask({ name, rows }: Parcel): Promise<Answer<Batch>> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#surroundings.api.check({
        key: this.#key,
        name,
        urls: rows.map(({ url }) => url),
        signal: this.#abandon.signal,
      })
      const delayMs = this.#delayFor(answer, attempt)
      if (delayMs === undefined || this.#stop.signal.aborted) {
        this.delay = undefined
        return answer
      }
      this.#surroundings.onChange()
      await this.#surroundings.wait(delayMs, this.#stop.signal)
      if (this.#stop.signal.aborted) return answer
    }
  }

  /** Returns the wait before the next attempt, in milliseconds; undefined when there is none. */
  #delayFor(answer: Answer<Batch>, attempt: number): number | undefined {
    if (answer._tag === "Answered") return undefined
    if (answer._tag === "Refused" && answer.status === 429) {
      const ms = answer.retryAfterMs ?? 1000
      this.delay = { kind: "rate limit", seconds: Math.ceil(ms / 1000) }
      return ms
    }
    if (answer._tag === "Refused" && answer.status === 409) {
      const ms = answer.retryAfterMs ?? 1000
      this.delay = { kind: "in progress", seconds: Math.ceil(ms / 1000) }
      return ms
    }
    const isWorthwhile = answer._tag === "Lost" || answer.status >= 500
    const ms = isWorthwhile && this.#surroundings.isOnline() ? delaysMs[attempt - 1] : undefined
    if (ms !== undefined) this.delay = { kind: "server", attempt, of: delaysMs.length }
    return ms
  }

  #halt(halt: Halt) {
    this.halt ??= halt
    if (this.status === "running") this.status = "stopping"
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
        this.checked++
        success = successes.next().value
      } else {
        this.#fail(row, failure?.url === row.url ? failure.reason : "SERVER_ERROR")
        failure = failures.next().value
      }
    }
    this.creditsUsed += quota.creditsUsed
  }

  #fail(row: Row, reason: Reason) {
    row.reason = reason
    this.failed++
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
