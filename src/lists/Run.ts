/**
 * Checks a list through the API. A run has a list and a store of answers: it uses the answers in
 * the store, buys each remaining target once, and stores each batch before sending it.
 */
import type { AuthorityMetrics, CallOptions, Key, Options } from "../client/ClientTypes.ts"
import { type AnyClientError, InsufficientCredits, isClientError } from "../client/ClientError.ts"
import { mapInOrder } from "../client/mapInOrder.ts"
import { type CheckResult, invalid, type Outcome } from "../client/Outcomes.ts"
import * as Signal from "../client/Signal.ts"
import { type Entry, isHidden, judging } from "../client/Targets.ts"
import { maxUrls } from "../contract/Limits.ts"
import {
  type Answer,
  type Answers,
  type Batch,
  type Item,
  type Payer,
  targetsOf,
} from "./Answers.ts"
import type { Plan } from "./Plan.ts"
import * as Purchase from "./Purchase.ts"

/** Makes a client that calls `onRetry` before each retry. */
export type Connect = (
  onRetry?: Options["onRetry"],
) => Pick<AuthorityMetrics, "availableCredits" | "check" | "key" | "preview">

/** `done`: nothing is left to send. `halted`: an error that retries cannot fix ended the run. */
export type Status = "running" | "stopping" | "stopped" | "halted" | "done"

/** How long a batch waits before it is sent again. */
export interface Delay {
  /** The time of the next attempt, in epoch milliseconds. */
  readonly until: number
  readonly error: AnyClientError
}

export interface Surroundings extends Purchase.Credentials {
  readonly answers: Answers
  readonly connect: Connect
}

export interface PlanOptions extends CallOptions {
  /**
   * Called with the number of URLs that the service has previewed and the number to preview in all.
   */
  readonly onProgress?: ((done: number, all: number) => void) | undefined
  /** The maximum age of stored answers, and of the figures that the service sends. */
  readonly maxAgeMs?: number | undefined
  /** True to buy all targets again. */
  readonly isAgain?: boolean | undefined
}

export interface GoOptions {
  /**
   * What to do with targets that may be charged a second time: check them again, or leave them out.
   * Default: `leaveOut`.
   */
  readonly doubtful?: "again" | "leaveOut" | undefined
  readonly onChange?: (() => void) | undefined
}

/** A batch in flight. `delay` is the wait before its latest attempt. */
interface Call {
  readonly controller: AbortController
  delay?: Delay
}

/** How many targets of the list have an answer, and how many of these have no figures. */
export interface Progress {
  readonly targets: number
  readonly answered: number
  readonly failed: number
}

/**
 * The maximum number of batches in flight, which leaves capacity for the service's other clients.
 */
const maxAtOnce = 4

export class Run {
  readonly #answers: Answers
  readonly #connect: Connect
  readonly #credentials: Purchase.Credentials
  #payer: Payer
  #budget: Key["budget"] = null
  #since = 0
  #maxAgeSeconds: number | undefined
  #price: number | undefined
  readonly #entries = new Map<string, Entry>()
  readonly #outcomes = new Map<string, Pick<Answer, "outcome" | "at">>()
  /** The targets of the planned list, each with the first URL that has it. */
  #targets: ReadonlyMap<string, string> = new Map()
  /** The pending batches that the plan names, and those that this run could not send. */
  #repeats = new Set<string>()
  #doubts = new Set<string>()
  /** The targets that may be charged a second time. */
  #doubtful: Array<Item> = []
  /** The targets that are still to be sent, the last one first. */
  #queue: Array<Item> = []
  /** The targets that this call of `go` leaves to another plan. */
  #left: Array<Item> = []
  readonly #calls = new Set<Call>()
  #status: Status = "stopped"
  #halt: { readonly error: AnyClientError; readonly availableCredits?: number } | undefined
  #creditsUsed = 0
  #progress = { targets: 0, answered: 0, failed: 0 }
  #active = 0
  #width = maxAtOnce
  #size = maxUrls
  #waiting: Array<() => void> = []

  constructor({ answers, connect, ...credentials }: Surroundings) {
    this.#answers = answers
    this.#connect = connect
    this.#credentials = credentials
    this.#payer = { service: credentials.service, account: "" }
  }

  get status(): Status {
    return this.#status
  }

  get isActive(): boolean {
    return this.#status === "running" || this.#status === "stopping"
  }

  /**
   * The error that ended the run. After InsufficientCredits, `availableCredits` is what the account
   * has left: too little for another target.
   */
  get halt() {
    return this.#halt
  }

  /** What the account paid for the answers that this run stored. */
  get creditsUsed(): number {
    return this.#creditsUsed
  }

  get progress(): Progress {
    return this.#progress
  }

  /** The wait that ends last, of all batches that wait for a retry. */
  get delay(): Delay | undefined {
    return [...this.#calls].flatMap(({ delay = [] }) => delay).sort((a, b) => b.until - a.until)[0]
  }

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
   * Finds out, free of charge, what the run has to do for the list. Rejects with the errors of the
   * client and the store. Forgets outcomes without an answer in the store, so that they are checked
   * again.
   */
  async plan(urls: Iterable<string>, options: PlanOptions = {}): Promise<Plan> {
    const { isAgain = false, maxAgeMs, signal } = options
    const counts = new Map<string, number>()
    for (const url of urls) counts.set(url, (counts.get(url) ?? 0) + 1)
    this.#entries.clear()
    this.#outcomes.clear()
    this.#price = undefined
    this.#since = Date.now() - (isAgain ? -1 : (maxAgeMs ?? Purchase.defaultMaxAgeMs))
    this.#maxAgeSeconds = maxAgeMs === undefined ? undefined : maxAgeMs / 1000
    const client = this.#connect()
    const { budget, payer } = await Purchase.payerOf(client, this.#credentials, { signal })
    this.#payer = payer
    this.#budget = budget
    await this.#find([...counts.keys()])
    const open = [...counts.keys()].filter((url) => !this.#entries.has(url))
    if (open.length === 0) return this.#planOf(counts, [], undefined)
    const availableCredits = await availableTo(client, signal)
    await this.#judge(open, client, options)
    await this.#find(open.flatMap((url) => this.targetOf(url) ?? []))
    return this.#planOf(counts, await this.#answers.pending(payer), availableCredits)
  }

  /**
   * Sends what the plan found. Resolves when the run has ended; `status` and `halt` say how.
   * Rejects when the store fails. Does nothing while the run is active.
   */
  async go(options: GoOptions = {}): Promise<void> {
    if (this.isActive) return
    this.#status = "running"
    this.#halt = undefined
    this.#size = maxUrls
    options.onChange?.()
    try {
      const { leave, owner } = await this.#answers.enter()
      try {
        await this.#sendAll(owner, options)
      } finally {
        leave()
      }
    } finally {
      this.#putBack(this.#left.splice(0))
      const isDone = this.#queue.length === 0
      this.#status = this.#halt !== undefined ? "halted" : isDone ? "done" : "stopped"
      this.#announce(options)
    }
  }

  /** Stops once the batches in flight have ended. A second call aborts them. */
  stop() {
    this.#endCalls(this.#status === "stopping")
  }

  /** The most that a number of targets can cost; undefined while the price is unknown. */
  costOf(targets: number): number | undefined {
    if (targets === 0) return 0
    return this.#price === undefined ? undefined : targets * this.#price
  }

  /** Finds answers in the store by URLs or targets of the list. */
  async #find(names: ReadonlyArray<string>) {
    const isUsable = Purchase.usableSince(this.#since)
    const asked = new Set(names)
    for (const answer of await this.#answers.find(this.#payer, names)) {
      if (!isUsable(answer)) continue
      const { target } = answer
      for (const url of [target, answer.outcome.url])
        if (asked.has(url) && !this.#entries.has(url)) this.#entries.set(url, { url, target })
      this.#add(answer)
    }
  }

  async #judge(
    urls: ReadonlyArray<string>,
    client: ReturnType<Connect>,
    { onProgress, signal }: PlanOptions,
  ) {
    let done = 0
    const judge = judging(client)
    const options = { signal, maxAgeSeconds: this.#maxAgeSeconds }
    const pieces = piecesOf(urls)
    for await (const judged of mapInOrder(pieces, maxAtOnce, (piece) => judge(piece, options))) {
      for (const entry of judged.entries) this.#entries.set(entry.url, entry)
      done += judged.entries.length
      onProgress?.(done, urls.length)
      this.#price = judged.price ?? this.#price
    }
  }

  #planOf(
    counts: ReadonlyMap<string, number>,
    pending: ReadonlyArray<Batch>,
    availableCredits: number | undefined,
  ): Plan {
    const targets = new Map<string, string>()
    let [total, valid] = [0, 0]
    for (const [url, count] of counts) {
      total += count
      const target = this.targetOf(url)
      if (target === undefined) continue
      valid += count
      if (!targets.has(target)) targets.set(target, url)
    }
    this.#targets = targets
    const sent = pending.filter(({ items }) => items.some(({ target }) => this.#isOpen(target)))
    const repeats = sent.filter(Purchase.isRepeatable)
    const old = sent.filter((batch) => !Purchase.isRepeatable(batch))
    const keysOf = (batches: ReadonlyArray<Batch>) => new Set(batches.map(({ key }) => key))
    this.#repeats = keysOf(repeats)
    this.#doubts = keysOf(old)
    const repeated = new Map(
      repeats.flatMap(({ items }) => items.map(({ target, url }) => [target, url])),
    )
    const doubts = targetsOf(old)
    const open = [...targets].flatMap(([target, url]) =>
      this.#isOpen(target) && !repeated.has(target) ? [{ target, url }] : [],
    )
    const fresh = open.filter(({ target }) => !doubts.has(target))
    this.#doubtful = open.filter(({ target }) => doubts.has(target))
    // Batches that were already sent go first, one by one.
    this.#queue = []
    this.#putBack([...[...repeated].map(([target, url]) => ({ target, url })), ...fresh])
    const answers = [...this.#outcomes.values()]
    const failed = answers.filter(({ outcome }) => "reason" in outcome).length
    this.#progress = { targets: targets.size, answered: answers.length, failed }
    const known = fresh.filter(({ url }) => this.#isKnown(url)).length
    const doubtful = this.#doubtful.length
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
      price: this.#price,
      known,
      toBuy: fresh.length - known,
      repeated: repeated.size,
      repeatedOthers: [...repeated].flatMap(([target, url]) => (targets.has(target) ? [] : [url])),
      maxCredits: this.costOf(fresh.length + repeated.size),
      doubtful: { targets: doubtful, credits: this.costOf(doubtful) },
      availableCredits,
      budget: this.#budget?.remaining,
    }
  }

  #isKnown(url: string): boolean {
    const entry = this.#entries.get(url)
    return entry !== undefined && "target" in entry && entry.known === true
  }

  #isOpen(target: string): boolean {
    return this.#targets.has(target) && !this.#outcomes.has(target)
  }

  /** Queues the targets that are in the list and have no outcome, before all others. */
  #putBack(items: ReadonlyArray<Item>) {
    this.#queue.push(...items.filter(({ target }) => this.#isOpen(target)).reverse())
  }

  #add({ at, outcome, target }: Answer) {
    const known = this.#outcomes.get(target)
    this.#outcomes.set(target, { outcome, at })
    if (!this.#targets.has(target)) return
    let { answered, failed, targets } = this.#progress
    if (known === undefined) answered++
    else if ("reason" in known.outcome) failed--
    if ("reason" in outcome) failed++
    this.#progress = { targets, answered, failed }
  }

  async #sendAll(owner: string, options: GoOptions) {
    const isAgain = options.doubtful === "again"
    if (isAgain) this.#putBack(this.#doubtful.splice(0))
    this.#width = maxAtOnce
    this.#active = maxAtOnce
    const buyer: Purchase.Buyer = {
      answers: this.#answers,
      payer: this.#payer,
      owner,
      isUsable: Purchase.usableSince(this.#since),
      check: (batch) => this.#check(batch, options),
      // The plan does not include the targets of other batches. Takes over a batch only once:
      // otherwise two runs that do not know of each other would take it from each other for ever.
      fateOf: (batch) => {
        if (Purchase.isRepeatable(batch))
          return this.#repeats.delete(batch.key) ? "repeat" : "leave"
        return isAgain && this.#doubts.has(batch.key) ? "anew" : "leave"
      },
      onAnswers: (answers) => {
        for (const answer of answers) this.#add(answer)
        this.#announce(options)
      },
      pause: async () => {
        await this.#called(({ signal }) => Signal.sleep(Purchase.lookAgainMs, signal))
        if (this.#status !== "running") throw stopped
      },
    }
    const ended = await Promise.allSettled(
      Array.from({ length: maxAtOnce }, () => this.#work(buyer)),
    )
    for (const end of ended) if (end.status === "rejected") throw end.reason
  }

  async #work(buyer: Purchase.Buyer) {
    try {
      while (this.#status === "running" && this.#active <= this.#width) {
        const items = this.#queue.splice(-this.#size).reverse()
        if (items.length === 0) break
        try {
          const { bought } = await Purchase.buy(buyer, items)
          this.#left.push(...(await bought))
        } catch (error) {
          this.#putBack(items)
          if (error instanceof InsufficientCredits) continue
          if (error !== stopped && !isClientError(error)) throw error
          if (isClientError(error)) this.#haltFor(error)
          else this.#endCalls()
        }
      }
    } catch (error) {
      this.#endCalls()
      throw error
    } finally {
      this.#active--
    }
  }

  /** Makes a call that `stop` can abort, which rejects it with `stopped`. */
  async #called<A>(
    act: (options: { readonly signal: AbortSignal; readonly call: Call }) => Promise<A>,
  ): Promise<A> {
    const call: Call = { controller: new AbortController() }
    const { signal } = call.controller
    this.#calls.add(call)
    try {
      return await act({ signal, call })
    } catch (error) {
      throw signal.aborted ? stopped : error
    } finally {
      this.#calls.delete(call)
    }
  }

  async #check(batch: Batch, options: GoOptions): Promise<CheckResult> {
    if (this.#status !== "running") throw stopped
    const { items, key } = batch
    try {
      const result = await this.#called(({ call, signal }) => {
        const client = this.#connect((error, waitMs) => {
          if (this.#status !== "running" || !Purchase.isRepeatable(batch)) call.controller.abort()
          call.delay = { error, until: Date.now() + waitMs }
          options.onChange?.()
        })
        const urls = items.map(({ url }) => url)
        return client.check(urls, {
          idempotencyKey: key,
          // The plan has promised this price.
          maxCredits: this.#price && Math.ceil(this.#price * items.length),
          maxAgeSeconds: this.#maxAgeSeconds,
          provenance: true,
          signal,
        })
      })
      this.#creditsUsed += result.creditsUsed
      return result
    } catch (error) {
      if (error instanceof InsufficientCredits) await this.#spendTheRest(items.length, error)
      else this.#repeats.add(key)
      throw error
    }
  }

  #haltFor(error: AnyClientError, availableCredits?: number) {
    this.#halt ??= { error, ...(availableCredits !== undefined && { availableCredits }) }
    this.#endCalls()
  }

  /**
   * Handles a 402. Batches in flight also hold credits, so the run first waits for their answers,
   * then sends smaller batches that the remaining credits can pay for. When the key's budget is
   * short, it halves the batch, because only the service knows what is left of the budget.
   */
  async #spendTheRest(length: number, refusal: InsufficientCredits) {
    if (this.#active > 1) {
      this.#width = 1
      return
    }
    if (refusal.limit === "budget") {
      this.#size = Math.floor(length / 2)
      return this.#size < 1 ? this.#haltFor(refusal) : undefined
    }
    try {
      const available = await availableTo(this.#connect())
      // While the price or the balance is unknown, try half of the batch.
      const paid = (available ?? Number.NaN) / (this.#price ?? Number.NaN)
      const size = Math.floor(Number.isNaN(paid) ? length / 2 : paid)
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

const stopped = new Error("The run was stopped.")

/** The account's available credits; undefined when the key may not read them. */
const availableTo = async (client: ReturnType<Connect>, signal?: AbortSignal) => {
  try {
    return await client.availableCredits({ signal })
  } catch (error) {
    if (!isHidden(error)) throw error
    return undefined
  }
}

async function* piecesOf(urls: ReadonlyArray<string>) {
  for (let start = 0; start < urls.length; start += maxUrls)
    yield urls.slice(start, start + maxUrls)
}
