/**
 * Checks a list through the API. A run is a list and a store of answers: what the store has is not
 * bought, and each target of the list is bought once. Each batch is in the store before it is sent.
 */
import { v4 as uuid } from "uuid"
import type { AuthorityMetrics, CallOptions, Key } from "../client/Client.ts"
import { type AnyClientError, InsufficientCredits, isClientError } from "../client/ClientError.ts"
import { mapInOrder } from "../client/mapInOrder.ts"
import type { Options } from "../client/Options.ts"
import { invalid, type Outcome } from "../client/Outcomes.ts"
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

/** The wait of a batch before it is sent again. */
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
  /** Called with the number of URLs that the service has previewed, and of those that it has to. */
  readonly onProgress?: ((done: number, all: number) => void) | undefined
  /** The greatest age of answers that are used, and of figures that the service sends. */
  readonly maxAgeMs?: number | undefined
  /** True to buy all targets anew. */
  readonly isAgain?: boolean | undefined
}

export interface GoOptions {
  /**
   * What to do with the targets that may be charged a second time: check them again, or, by
   * default, leave them out.
   */
  readonly doubtful?: "again" | "leaveOut" | undefined
  /** Called after each change of the run. */
  readonly onChange?: (() => void) | undefined
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
  /** The keys of the batches without an answer that the plan repeats. */
  #planned: ReadonlySet<string> = new Set()
  #repeats: Array<Batch> = []
  #doubtful: ReadonlyArray<Batch> = []
  /** The targets that have to be sent. The last one is sent first. */
  #queue: Array<Item> = []
  /** Targets that another run sends. */
  readonly #awaited = new Set<string>()
  /** True when targets of the plan were left out. */
  #isShort = false
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
   * has left, which is too little for another target.
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
   * Finds out, free of charge, what the run has to do for the list. Rejects like the client and the
   * store. Outcomes without an answer in the store are forgotten, and checked again.
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
   * Sends what the plan found. Resolves when the run has ended; `status` and `halt` say how. Rejects
   * when the store fails. Does nothing while the run is active.
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
        if (options.doubtful === "again") await this.#giveUp()
        do await this.#sendAll(owner, options)
        while (await this.#lookAgain(options))
      } finally {
        leave()
      }
    } finally {
      this.#status = this.#endOf()
      this.#announce(options)
    }
  }

  /** Stops when the batches in flight have ended. A second call aborts the batches in flight. */
  stop() {
    this.#endCalls(this.#status === "stopping")
  }

  /** The most that a number of targets costs; undefined while the price is unknown. */
  costOf(targets: number): number | undefined {
    if (targets === 0) return 0
    return this.#price === undefined ? undefined : targets * this.#price
  }

  #endOf(): Status {
    if (this.#halt !== undefined) return "halted"
    const left = this.#queue.length + this.#repeats.length + this.#awaited.size
    return left === 0 && !this.#isShort ? "done" : "stopped"
  }

  /** Reads answers of the store, by URLs or targets of the list. */
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
    const pieces = piecesOf(urls)
    const options = { signal, maxAgeSeconds: this.#maxAgeSeconds }
    const next = async () => pieces.next()
    for await (const judged of mapInOrder({ next }, maxAtOnce, (piece) => judge(piece, options))) {
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
    const isOpen = (target: string) => targets.has(target) && !this.#outcomes.has(target)
    const sent = Purchase.batchesWith(pending, isOpen)
    this.#repeats = sent.filter(Purchase.isRepeatable)
    this.#doubtful = sent.filter((batch) => !Purchase.isRepeatable(batch))
    this.#planned = new Set(this.#repeats.map(({ key }) => key))
    this.#awaited.clear()
    this.#isShort = false
    const repeated = new Map(
      this.#repeats.flatMap(({ items }) => items.map((i) => [i.target, i.url])),
    )
    const doubts = targetsOf(this.#doubtful)
    const open = [...targets].filter(([target]) => isOpen(target) && !repeated.has(target))
    this.#queue = open.flatMap(([target, url]) => (doubts.has(target) ? [] : [{ url, target }]))
    this.#queue.reverse()
    const answers = [...this.#outcomes.values()]
    const failed = answers.filter(({ outcome }) => "reason" in outcome).length
    this.#progress = { targets: targets.size, answered: answers.length, failed }
    const known = this.#queue.filter(({ url }) => this.#isKnown(url)).length
    const doubtful = open.length - this.#queue.length
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
      toBuy: this.#queue.length - known,
      repeated: repeated.size,
      repeatedOthers: [...repeated].flatMap(([target, url]) => (targets.has(target) ? [] : [url])),
      maxCredits: this.costOf(this.#queue.length + repeated.size),
      doubtful: { targets: doubtful, credits: this.costOf(doubtful) },
      availableCredits,
      budget: this.#budget?.remaining,
    }
  }

  #isKnown(url: string): boolean {
    const entry = this.#entries.get(url)
    return entry !== undefined && "target" in entry && entry.known === true
  }

  /** Queues the doubtful targets of the list. */
  async #giveUp() {
    const [answers, payer] = [this.#answers, this.#payer]
    const isOpen = (target: string) => this.#isOpen(target)
    for (const batch of this.#doubtful) {
      await Purchase.giveUp({ answers, payer, batch }, isOpen)
      this.#putBack(batch)
    }
    this.#doubtful = []
  }

  #isOpen(target: string): boolean {
    return this.#targets.has(target) && !this.#outcomes.has(target)
  }

  /** Queues those targets of a batch that are in the list and have no outcome. */
  #putBack({ items }: Pick<Batch, "items">) {
    this.#queue.push(...items.filter(({ target }) => this.#isOpen(target)).reverse())
  }

  /** Records an answer. */
  #add({ at, outcome, target }: Answer) {
    const known = this.#outcomes.get(target)
    this.#outcomes.set(target, { outcome, at })
    this.#awaited.delete(target)
    if (!this.#targets.has(target)) return
    let { answered, failed, targets } = this.#progress
    if (known === undefined) answered++
    else if ("reason" in known.outcome) failed--
    if ("reason" in outcome) failed++
    this.#progress = { targets, answered, failed }
  }

  /** Sends what can be sent now. */
  async #sendAll(owner: string, options: GoOptions) {
    this.#width = maxAtOnce
    this.#active = maxAtOnce
    const ended = await Promise.allSettled(
      Array.from({ length: maxAtOnce }, () => this.#work(owner, options)),
    )
    for (const end of ended) if (end.status === "rejected") throw end.reason
  }

  async #work(owner: string, options: GoOptions) {
    try {
      while (this.#status === "running" && this.#active <= this.#width) {
        const batch = (await this.#repeat(owner)) ?? (await this.#take(owner))
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

  /** Takes over a batch that the plan repeats. The run that sends it may still be at work. */
  async #repeat(owner: string): Promise<Batch | undefined> {
    for (;;) {
      const batch = this.#repeats.shift()
      if (batch === undefined) return undefined
      // The run may have paused for a day since its plan.
      if (!Purchase.isRepeatable(batch)) {
        this.#isShort = true
        continue
      }
      const sending = { answers: this.#answers, payer: this.#payer, batch }
      const adopted = await Purchase.adopt(sending, owner)
      if (adopted !== undefined) return adopted
      this.#await(batch.items)
    }
  }

  /** Takes the next targets that nobody else sends. */
  async #take(owner: string): Promise<Batch | undefined> {
    for (;;) {
      const items = this.#queue.splice(-this.#size).reverse()
      if (items.length === 0) return undefined
      const batch = { key: uuid(), items, sentAt: Date.now(), owner }
      const isUsable = Purchase.usableSince(this.#since)
      const taken = await this.#answers.take(this.#payer, batch, isUsable)
      const mine = new Set(taken?.items.map(({ target }) => target))
      this.#await(items.filter(({ target }) => !mine.has(target)))
      if (taken !== undefined) return taken
    }
  }

  #await(items: ReadonlyArray<Item>) {
    for (const { target } of items) if (this.#isOpen(target)) this.#awaited.add(target)
  }

  /**
   * Looks for what other runs have answered or given up. Resolves to true when the run has to go on:
   * there is something to send, or another run is still at work.
   */
  async #lookAgain(options: GoOptions): Promise<boolean> {
    if (this.#status !== "running" || this.#awaited.size === 0) return false
    const pending = await this.#answers.pending(this.#payer)
    await this.#find([...this.#awaited])
    const isAwaited = (target: string) => this.#awaited.has(target)
    for (const batch of Purchase.batchesWith(pending, isAwaited)) {
      if (await Purchase.isAtWork(this.#answers, batch)) continue
      // The plan has not named the other targets of a batch that it did not know.
      if (this.#planned.has(batch.key)) this.#repeats.push(batch)
      else this.#isShort = true
      for (const { target } of batch.items) this.#awaited.delete(target)
    }
    const sent = targetsOf(pending)
    const free = [...this.#awaited].filter((target) => !sent.has(target))
    for (const target of free) this.#awaited.delete(target)
    this.#putBack({
      items: free.map((target) => ({ target, url: this.#targets.get(target) ?? target })),
    })
    this.#announce(options)
    if (this.#queue.length > 0 || this.#repeats.length > 0) return true
    if (this.#awaited.size > 0) await this.#pause()
    return this.#awaited.size > 0
  }

  async #pause() {
    const call: Call = { controller: new AbortController() }
    this.#calls.add(call)
    await Signal.sleep(Purchase.lookAgainMs, call.controller.signal).catch(() => undefined)
    this.#calls.delete(call)
  }

  async #deliver(batch: Batch, options: GoOptions) {
    const call: Call = { controller: new AbortController() }
    const { signal } = call.controller
    this.#calls.add(call)
    const client = this.#connect((error, waitMs) => {
      if (this.#status !== "running" || !Purchase.isRepeatable(batch)) call.controller.abort()
      call.delay = { error, until: Date.now() + waitMs }
      options.onChange?.()
    })
    try {
      const { found, isFirst, result } = await Purchase.send(
        client,
        { answers: this.#answers, payer: this.#payer, batch },
        {
          // The plan has promised this price.
          maxCredits: this.#price && Math.ceil(this.#price * batch.items.length),
          maxAgeSeconds: this.#maxAgeSeconds,
          signal,
        },
      )
      if (isFirst) this.#creditsUsed += result.creditsUsed
      for (const answer of found) this.#add(answer)
    } catch (error) {
      await this.#fail(batch, error, signal.aborted)
    } finally {
      this.#calls.delete(call)
    }
  }

  async #fail(batch: Batch, error: unknown, isAborted: boolean) {
    if (error instanceof InsufficientCredits) {
      this.#putBack(batch)
      return this.#spendTheRest(batch.items.length, error)
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

/** Returns undefined when the key may not ask. */
const availableTo = async (client: ReturnType<Connect>, signal?: AbortSignal) => {
  try {
    return await client.availableCredits({ signal })
  } catch (error) {
    if (!isHidden(error)) throw error
    return undefined
  }
}

function* piecesOf(urls: ReadonlyArray<string>) {
  for (let start = 0; start < urls.length; start += maxUrls)
    yield urls.slice(start, start + maxUrls)
}
