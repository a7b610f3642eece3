/**
 * How many calls to one vendor may be in flight: additive increase, multiplicative decrease, as in
 * TCP and Netflix's concurrency-limits. The limit starts at 4. It grows while it is used up and the
 * vendor's latency stays level. It halves when the vendor throttles or slows down.
 */

/** The median latency of so many answers is compared with the lowest median so far. */
const samplesPerMedian = 32

/** Up to this factor above the lowest median, the latency is level. Above `slow`, the limit halves. */
const level = 1.5
const slow = 2

/** The limit does not fall below its first value because the vendor slows down. */
const initial = 4

/** A latency that stays raised for so long halves the limit too, even when it is not `slow`. */
const raisedMs = 10_000

/** Half the calls help when they bring the median down to this factor. Else the limit returns. */
const helpful = 0.85

/** The limit stays below the calls that the vendor throttled, for so long and so many answers. */
const calmMs = 30_000
const calmAnswers = 100

/** A call that lasts longer than this time, and than this multiple of the median, is stuck. */
const minStuckMs = 1000
const stuckFactor = 3

/** All times are milliseconds of the monotonic clock. */
export class Limit {
  private readonly max: number
  private readonly maxWithSpare: number
  private limit: number
  private taken = 0
  /** Until the limit is lowered for the first time, it doubles in each round of calls, as in TCP. */
  private isStarting = true
  /** Calls that started until this time say nothing about the present limit. */
  private loweredAt = Number.NEGATIVE_INFINITY

  private latencies: Array<number> = []
  private lowestMedian = Number.POSITIVE_INFINITY
  private isLevel = true
  /** The limit and the median before the vendor's latency halved the limit. */
  private before: { readonly limit: number; readonly median: number } | undefined
  private raisedAt = Number.POSITIVE_INFINITY

  private ceiling = Number.POSITIVE_INFINITY
  private throttledAt = Number.NEGATIVE_INFINITY
  private answersSince = 0
  private refusalsLeft = Number.POSITIVE_INFINITY

  /** `max` is the upper limit. If it is above the first limit, its last call is always a spare one. */
  constructor(max: number) {
    this.maxWithSpare = max
    this.max = max > initial ? max - 1 : max
    this.limit = Math.min(initial, max)
  }

  /** The number of calls that may be in flight now. */
  get calls(): number {
    return Math.max(1, Math.min(Math.floor(this.limit), this.refusalsLeft))
  }

  get inFlight(): number {
    return this.taken
  }

  get hasRoom(): boolean {
    return this.taken < this.calls
  }

  /** One call more, which may begin when all calls in flight are stuck. */
  get hasSpareRoom(): boolean {
    return this.taken < Math.min(Math.floor(this.limit) + 1, this.maxWithSpare, this.refusalsLeft)
  }

  /** After this time a call is stuck. */
  get stuckMs(): number {
    const { lowestMedian } = this
    const isKnown = Number.isFinite(lowestMedian)
    return isKnown ? Math.max(minStuckMs, stuckFactor * lowestMedian) : minStuckMs
  }

  take(): void {
    this.taken += 1
  }

  release(): void {
    this.taken -= 1
  }

  /** The vendor answered an attempt, or did not answer it in time. */
  answered(startedAt: number, now: number): void {
    this.answersSince += 1
    if (startedAt > this.loweredAt) this.latencies.push(now - startedAt)
    if (this.latencies.length >= samplesPerMedian) this.judge(medianOf(this.latencies), now)
    if (this.isLevel && this.taken >= Math.floor(this.limit)) this.grow(now)
  }

  /** The vendor throttled an attempt. Throttled calls of one round lower the limit once. */
  throttled(startedAt: number, now: number): void {
    this.throttledAt = now
    this.answersSince = 0
    if (startedAt <= this.loweredAt) return
    const used = Math.min(Math.floor(this.limit), this.taken)
    // A call that was alone is not throttled for the number of calls.
    if (used < 2) return
    this.ceiling = used - 1
    this.lower(Math.floor(used / 2), now)
  }

  /** Keeps the calls in flight below the number of refusals that the vendor still tolerates. */
  tolerate(refusals: number): void {
    this.refusalsLeft = refusals
  }

  private judge(median: number, now: number): void {
    this.latencies = []
    if (this.before !== undefined && median > helpful * this.before.median) {
      // The vendor is slow for its own reasons, and fewer calls do not make it faster.
      this.limit = this.before.limit
      this.lowestMedian = median
    }
    this.before = undefined
    this.isLevel = median <= level * this.lowestMedian
    if (this.isLevel) {
      this.lowestMedian = Math.min(this.lowestMedian, median)
      this.raisedAt = Number.POSITIVE_INFINITY
      return
    }
    this.raisedAt = Math.min(this.raisedAt, now)
    if (now - this.raisedAt < raisedMs && median <= slow * this.lowestMedian) return
    const { limit } = this
    this.lower(Math.max(Math.min(initial, limit), Math.floor(limit / 2)), now)
    this.before = { limit, median }
  }

  private grow(now: number): void {
    const isCalm = this.answersSince >= calmAnswers && now - this.throttledAt >= calmMs
    const max = isCalm ? this.max : Math.min(this.max, this.ceiling)
    this.limit = Math.min(max, this.limit + (this.isStarting ? 1 : 1 / this.limit))
  }

  private lower(limit: number, now: number): void {
    this.limit = limit
    this.isStarting = false
    this.loweredAt = now
    this.before = undefined
    this.latencies = []
  }
}

const medianOf = (numbers: ReadonlyArray<number>) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
