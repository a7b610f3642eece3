/**
 * Checks one list through the API. A run is a set of targets and the answers that were paid for.
 * Each target is paid once, however often the list has it, and however often the run is stopped and
 * continued with a changed list. Each batch is in the journal before it is sent.
 */
import { v4 as uuid } from "uuid"
import {
  type AnyClientError,
  Forbidden,
  InsufficientCredits,
  isClientError,
} from "../client/ClientError.ts"
import { mapInOrder } from "../client/mapInOrder.ts"
import type { Options } from "../client/Options.ts"
import { invalid, type Outcome } from "../client/Outcomes.ts"
import type { AuthorityMetrics, CallOptions } from "../client/PromiseClient.ts"
import { isHidden, judging } from "../client/Targets.ts"
import { maxUrls } from "../contract/Limits.ts"
import type { Batch, Entry, Journal } from "./Journal.ts"
import type { Part, Plan } from "./Plan.ts"

/** Makes a client that calls `onRetry` before each retry. */
export type Connect = (
  onRetry?: Options["onRetry"],
) => Pick<AuthorityMetrics, "availableCredits" | "check" | "key" | "preview">

/**
 * The API key belongs to another account than the one that the run was sent for. The other account
 * would pay once more for batches without an answer.
 */
export class OtherAccount extends Forbidden {
  constructor(paying: string, account: string) {
    super({
      message: `The list was checked for the account ${paying} so far, but the key belongs to ${account}: use a key of ${paying}.`,
    })
  }
}

/** `done`: nothing is left to send. `halted`: an error that retries cannot fix ended the run. */
export type Status = "running" | "stopping" | "stopped" | "halted" | "done"

/** The wait of a batch before it is sent again. */
export interface Delay {
  /** The time of the next attempt, in epoch milliseconds. */
  readonly until: number
  readonly error: AnyClientError
}

export interface PlanOptions extends CallOptions {
  /** Called with the number of URLs that the service has previewed, and of those that it has to. */
  readonly onProgress?: ((done: number, all: number) => void) | undefined
  /** True to check targets again whose provider, or the service, failed. */
  readonly isRetry?: boolean | undefined
}

export interface GoOptions {
  readonly connect: Connect
  /**
   * What to do with the targets that may be charged a second time: check them again, or, by
   * default, leave them out.
   */
  readonly doubtful?: "again" | "leaveOut" | undefined
  /** Runs before the first batch. When it rejects, nothing is sent. */
  readonly begin?: () => Promise<void>
  /** Called after each change of the run. */
  readonly onChange?: () => void
}

/** A batch in flight. `delay` is the wait before its latest attempt. */
interface Call {
  readonly controller: AbortController
  delay?: Delay
}

/** How many of the targets of the list have an answer, and how many answers have no figures. */
export interface Progress {
  readonly targets: number
  readonly answered: number
  readonly failed: number
}

/** Maximum number of batches in flight. The limit leaves capacity for other clients of the service. */
const maxAtOnce = 4

/**
 * How long a batch can be repeated under its idempotency key, in milliseconds. The service forgets
 * a key after 24 hours. The hour between is for the clocks and for the repeat itself.
 */
const repeatableMs = 23 * 60 * 60 * 1000

export class Run {
  readonly #journal: Journal
  readonly #entries: Map<string, Entry>
  readonly #outcomes = new Map<string, { readonly outcome: Outcome; readonly at: number }>()
  /** The batches without an answer, by their idempotency keys. */
  readonly #pending = new Map<string, Batch>()
  readonly #calls = new Set<Call>()
  /** The targets of the planned list, each with the first URL that has it. */
  #targets: ReadonlyMap<string, string> = new Map()
  #repeats: Array<Batch> = []
  /** The targets that were never sent. The last one is sent first. */
  #queue: Array<{ readonly url: string; readonly target: string }> = []
  #status: Status = "stopped"
  #halt: { readonly error: AnyClientError; readonly availableCredits?: number } | undefined
  #price: number | undefined
  /** The account of the key; undefined for a service that does not name it. */
  #account: string | undefined
  /** The accounts that batches were sent for. */
  readonly #accounts = new Set<string>()
  #creditsUsed = 0
  #succeeded = 0
  /** Targets of batches without an answer that were bought anew. */
  #givenUp = 0
  #progress = { targets: 0, answered: 0, failed: 0 }
  #active = 0
  #width = maxAtOnce
  #size = maxUrls
  #waiting: Array<() => void> = []

  /**
   * Reads the journal. Rejects when the journal cannot be read. `isAnew` is true for a run that
   * ignores the answers of the journal.
   */
  static async open(journal: Journal, { isAnew = false } = {}): Promise<Run> {
    const { batches, entries } = await journal.read()
    return new Run(journal, { entries, batches: isAnew ? [] : batches })
  }

  private constructor(
    journal: Journal,
    { batches, entries }: Awaited<ReturnType<Journal["read"]>>,
  ) {
    this.#journal = journal
    this.#entries = new Map(entries.map((entry) => [entry.url, entry]))
    for (const batch of batches) this.#add(batch)
  }

  get status(): Status {
    return this.#status
  }

  get isActive(): boolean {
    return this.#status === "running" || this.#status === "stopping"
  }

  /**
   * The error that ended the run. After InsufficientCredits, `availableCredits` is what the account
   * has left, which is too little for another target.
   */
  get halt() {
    return this.#halt
  }

  /** What the account paid for this run, in all of its starts. */
  get creditsUsed(): number {
    return this.#creditsUsed
  }

  get progress(): Progress {
    return this.#progress
  }

  /** Targets that were bought anew, and what their lost answers may have cost beside `creditsUsed`. */
  get givenUp(): Part {
    return { targets: this.#givenUp, credits: this.costOf(this.#givenUp) }
  }

  /** The delay that ends last, of all batches that wait for a retry. */
  get delay(): Delay | undefined {
    return [...this.#calls].flatMap(({ delay = [] }) => delay).sort((a, b) => b.until - a.until)[0]
  }

  /** The outcome of a URL; undefined while it has none. */
  outcomeOf(url: string): Outcome | undefined {
    const entry = this.#entries.get(url)
    if (entry === undefined) return undefined
    if ("problem" in entry) return invalid(url, entry.problem, true)
    const known = this.#outcomes.get(entry.target)
    return known && { ...known.outcome, url }
  }

  /** The target of a URL; undefined for an invalid URL, and before the plan. */
  targetOf(url: string): string | undefined {
    const entry = this.#entries.get(url)
    return entry !== undefined && "target" in entry ? entry.target : undefined
  }

  /** Waits for the outcome of a URL. Resolves to undefined when the run ends without one. */
  async settled(url: string): Promise<Outcome | undefined> {
    for (;;) {
      const outcome = this.outcomeOf(url)
      if (outcome !== undefined || !this.isActive) return outcome
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /**
   * Finds out, free of charge, what the run has to do for the list. Asks nobody when each URL has
   * an outcome. Rejects like the client and the journal, and with OtherAccount.
   */
  async plan(
    urls: Iterable<string> | AsyncIterable<string>,
    connect: Connect,
    options: PlanOptions = {},
  ): Promise<Plan> {
    const counts = new Map<string, number>()
    for await (const url of urls) counts.set(url, (counts.get(url) ?? 0) + 1)
    if (options.isRetry === true) this.#forgetFailures()
    const open = [...counts.keys()].filter((url) => this.outcomeOf(url) === undefined)
    if (open.length === 0) return this.#planOf(counts)
    const client = connect()
    this.#account = await accountOf(client, options.signal)
    const other = [...this.#accounts].find((account) => account !== this.#account)
    if (this.#account !== undefined && other !== undefined) {
      throw new OtherAccount(other, this.#account)
    }
    const availableCredits = await client.availableCredits({ signal: options.signal })
    await this.#judge(this.#unjudged(open), client, options)
    return this.#planOf(counts, availableCredits)
  }

  /**
   * Sends what the plan found. Resolves when the run has ended; `status` and `halt` say how. Rejects
   * when the journal fails. Does nothing while the run is active.
   */
  async go(options: GoOptions): Promise<void> {
    if (this.isActive) return
    const { begin = async () => {}, doubtful, onChange } = options
    this.#status = "running"
    this.#halt = undefined
    this.#size = maxUrls
    this.#width = maxAtOnce
    this.#active = maxAtOnce
    onChange?.()
    const begun = begin().then(() => (doubtful === "again" ? this.#giveUp() : undefined))
    const ended = await Promise.allSettled(
      Array.from({ length: maxAtOnce }, () => begun.then(() => this.#work(options))),
    )
    const isDone = this.#queue.length === 0 && this.#repeats.length === 0
    this.#status = this.#halt !== undefined ? "halted" : isDone ? "done" : "stopped"
    this.#announce(options)
    for (const end of ended) if (end.status === "rejected") throw end.reason
  }

  /** Stops when the batches in flight have ended. A second call aborts the batches in flight. */
  stop() {
    this.#endCalls(this.#status === "stopping")
  }

  /**
   * The URLs that no earlier start has previewed. Others fill the last preview, because a preview
   * also names the price.
   */
  #unjudged(urls: ReadonlyArray<string>): ReadonlyArray<string> {
    const fresh = urls.filter((url) => !this.#entries.has(url))
    const judged = urls.filter((url) => this.#entries.has(url))
    return [...fresh, ...judged.slice(0, maxUrls - (fresh.length % maxUrls))]
  }

  async #judge(
    urls: ReadonlyArray<string>,
    client: ReturnType<Connect>,
    { onProgress, ...options }: PlanOptions,
  ) {
    let done = 0
    const judge = judging(client)
    const pieces = piecesOf(urls)
    const next = async () => pieces.next()
    for await (const judged of mapInOrder({ next }, maxAtOnce, (piece) => judge(piece, options))) {
      const fresh = judged.entries.filter(({ url }) => !this.#entries.has(url))
      if (fresh.length > 0) await this.#journal.keepEntries(fresh)
      for (const entry of fresh) this.#entries.set(entry.url, entry)
      done += judged.entries.length
      onProgress?.(done, urls.length)
      this.#price = judged.price ?? this.#price
    }
  }

  #planOf(counts: ReadonlyMap<string, number>, availableCredits?: number): Plan {
    const targets = new Map<string, string>()
    let [total, valid] = [0, 0]
    for (const [url, count] of counts) {
      total += count
      const entry = this.#entries.get(url)
      if (entry === undefined || "problem" in entry) continue
      valid += count
      if (!targets.has(entry.target)) targets.set(entry.target, url)
    }
    this.#repeats = [...this.#pending.values()].filter(
      (batch) =>
        isRepeatable(batch) &&
        batch.items.some(({ target = "" }) => targets.has(target) && !this.#outcomes.has(target)),
    )
    const repeated = targetsOf(this.#repeats)
    const doubtful = targetsOf(this.#pending.values())
    const isUnsent = ([target]: readonly [string, string]) =>
      !this.#outcomes.has(target) && !doubtful.has(target)
    this.#queue = [...targets].filter(isUnsent).map(([target, url]) => ({ url, target }))
    this.#queue.reverse()
    this.#targets = targets
    const answers = [...targets.keys()].flatMap((target) => this.#outcomes.get(target) ?? [])
    const failed = answers.filter(({ outcome }) => "reason" in outcome).length
    this.#progress = { targets: targets.size, answered: answers.length, failed }
    const known = this.#queue.filter(({ url }) => this.#isKnown(url)).length
    const doubts = [...doubtful].filter((target) => targets.has(target) && !repeated.has(target))
    return {
      total,
      valid,
      invalid: total - valid,
      duplicates: valid - targets.size,
      answered: answers.length,
      oldest: answers.reduce<number | undefined>(
        (old, { at }) => Math.min(old ?? at, at),
        undefined,
      ),
      failed,
      paid: this.#creditsUsed,
      price: this.#unitPrice,
      known,
      toBuy: this.#queue.length - known,
      repeated: repeated.size,
      repeatedOthers: [...repeated].filter((target) => !targets.has(target)).length,
      maxCredits: this.costOf(this.#queue.length + repeated.size),
      doubtful: { targets: doubts.length, credits: this.costOf(doubts.length) },
      givenUp: this.givenUp,
      availableCredits,
    }
  }

  #isKnown(url: string): boolean {
    const entry = this.#entries.get(url)
    return entry !== undefined && "target" in entry && entry.known === true
  }

  /** The most that a number of targets costs; undefined while the price is unknown. */
  costOf(targets: number): number | undefined {
    if (targets === 0) return 0
    return this.#unitPrice === undefined ? undefined : targets * this.#unitPrice
  }

  get #unitPrice(): number | undefined {
    return this.#price ?? (this.#succeeded > 0 ? this.#creditsUsed / this.#succeeded : undefined)
  }

  /** Gives up the doubtful batches. Their targets of the list are sent in new batches. */
  async #giveUp() {
    const repeats = new Set(this.#repeats.map(({ key }) => key))
    for (const batch of this.#pending.values()) {
      if (
        repeats.has(batch.key) ||
        !batch.items.some(({ target = "" }) => this.#targets.has(target))
      )
        continue
      const givenUp = { ...batch, isGivenUp: true }
      await this.#journal.keepBatch(givenUp)
      this.#pending.delete(batch.key)
      this.#add(givenUp)
      this.#putBack(batch)
    }
  }

  /** Queues those targets of a batch that are in the list and have no outcome. */
  #putBack({ items }: Batch) {
    const waiting = items.flatMap(({ target, url }) =>
      target !== undefined && this.#targets.has(target) && !this.#outcomes.has(target)
        ? [{ url, target }]
        : [],
    )
    this.#queue.push(...waiting.reverse())
  }

  #forgetFailures() {
    for (const [target, { outcome }] of this.#outcomes) {
      if ("reason" in outcome && outcome.reason !== "INVALID_URL") this.#outcomes.delete(target)
    }
  }

  /** Records a batch: its answer, or that it has none. */
  #add(batch: Batch) {
    const { account, answer, isGivenUp = false, items, key } = batch
    if (account !== undefined) this.#accounts.add(account)
    if (answer === undefined) {
      if (isGivenUp) this.#givenUp += items.length
      else this.#pending.set(key, batch)
      return
    }
    this.#pending.delete(key)
    this.#creditsUsed += answer.creditsUsed
    let { answered, failed, targets } = this.#progress
    answer.outcomes.forEach((outcome, index) => {
      const target = items[index]?.target
      if (!("reason" in outcome)) this.#succeeded++
      if (target === undefined) return
      const known = this.#outcomes.get(target)?.outcome
      // A retry may have found figures. A journal has its batches in any order.
      if (known !== undefined && (!("reason" in known) || "reason" in outcome)) return
      this.#outcomes.set(target, { outcome, at: answer.answeredAt })
      if (!this.#targets.has(target)) return
      if (known === undefined) answered++
      else failed--
      if ("reason" in outcome) failed++
    })
    this.#progress = { targets, answered, failed }
  }

  async #work(options: GoOptions) {
    try {
      while (this.#status === "running" && this.#active <= this.#width) {
        // The run may have paused for a day since its plan.
        this.#repeats = this.#repeats.filter(isRepeatable)
        const batch = this.#repeats.shift() ?? this.#cut()
        if (batch === undefined) break
        await this.#deliver(batch, options)
        this.#announce(options)
      }
    } catch (error) {
      this.#endCalls()
      throw error
    } finally {
      this.#active--
    }
  }

  #cut(): Batch | undefined {
    const items = this.#queue.splice(-this.#size).reverse()
    if (items.length === 0) return undefined
    return {
      key: uuid(),
      items,
      sentAt: Date.now(),
      ...(this.#account !== undefined && { account: this.#account }),
      provenance: true,
    }
  }

  async #deliver(batch: Batch, options: GoOptions) {
    const call: Call = { controller: new AbortController() }
    const { signal } = call.controller
    this.#calls.add(call)
    try {
      if (!this.#pending.has(batch.key)) {
        await this.#journal.keepBatch(batch)
        this.#add(batch)
      }
      const client = options.connect((error, waitMs) => {
        if (this.#status !== "running" || !isRepeatable(batch)) call.controller.abort()
        call.delay = { error, until: Date.now() + waitMs }
        options.onChange?.()
      })
      const { creditsUsed, outcomes } = await client.check(
        batch.items.map(({ url }) => url),
        {
          idempotencyKey: batch.key,
          // The plan has promised this price.
          maxCredits: this.#price && Math.ceil(this.#price * batch.items.length),
          provenance: batch.provenance,
          signal,
        },
      )
      const answer = { outcomes: [...outcomes], creditsUsed, answeredAt: Date.now() }
      const answered = { ...batch, answer }
      await this.#journal.keepBatch(answered)
      this.#add(answered)
    } catch (error) {
      await this.#fail(batch, error, signal.aborted, options)
    } finally {
      this.#calls.delete(call)
    }
  }

  async #fail(batch: Batch, error: unknown, isAborted: boolean, options: GoOptions) {
    if (error instanceof InsufficientCredits) {
      // The service stores nothing after a 402, so the targets can go into other batches.
      await this.#journal.removeBatch(batch.key)
      this.#pending.delete(batch.key)
      this.#putBack(batch)
      return this.#spendTheRest(batch.items.length, error, options)
    }
    this.#repeats.unshift(batch)
    if (isAborted) return this.#endCalls()
    if (!isClientError(error)) throw error
    this.#haltFor(error)
  }

  #haltFor(error: AnyClientError, availableCredits?: number) {
    this.#halt ??= { error, ...(availableCredits !== undefined && { availableCredits }) }
    this.#endCalls()
  }

  /**
   * Handles a 402. Batches in flight also hold credits, so the run waits for their answers. Then it
   * sends smaller batches that the remaining credits can pay for. It tries half of a batch when the
   * budget of the key is short, because only the service knows what is left of it.
   */
  async #spendTheRest(length: number, refusal: InsufficientCredits, options: GoOptions) {
    if (this.#active > 1) {
      this.#width = 1
      return
    }
    if (refusal.limit === "budget") {
      this.#size = Math.floor(length / 2)
      return this.#size < 1 ? this.#haltFor(refusal) : undefined
    }
    try {
      const available = await options.connect().availableCredits()
      const price = this.#unitPrice
      // While the price is unknown, try half of the batch.
      const size = price === undefined ? Math.floor(length / 2) : Math.floor(available / price)
      if (size < 1 || size >= length) return this.#haltFor(refusal, available)
      this.#size = size
    } catch (error) {
      if (!isClientError(error)) throw error
      this.#haltFor(error)
    }
  }

  /** Sends no further batch. Aborts the batches that wait for a retry, or all batches in flight. */
  #endCalls(areAllAborted = false) {
    if (this.#status === "running") this.#status = "stopping"
    const now = Date.now()
    for (const { controller, delay } of this.#calls) {
      if (areAllAborted || (delay?.until ?? 0) > now) controller.abort()
    }
  }

  #announce({ onChange }: GoOptions) {
    for (const wake of this.#waiting.splice(0)) wake()
    onChange?.()
  }
}

/** Returns undefined when the service is too old to name the account, or the key may not ask. */
const accountOf = async (
  client: ReturnType<Connect>,
  signal: AbortSignal | undefined,
): Promise<string | undefined> => {
  try {
    return (await client.key({ signal })).account
  } catch (error) {
    if (!isHidden(error)) throw error
    return undefined
  }
}

const isRepeatable = ({ sentAt }: Batch) => Date.now() - sentAt < repeatableMs

function* piecesOf(urls: ReadonlyArray<string>) {
  for (let start = 0; start < urls.length; start += maxUrls)
    yield urls.slice(start, start + maxUrls)
}

const targetsOf = (batches: Iterable<Batch>): ReadonlySet<string> =>
  new Set([...batches].flatMap(({ items }) => items.flatMap(({ target = [] }) => target)))
