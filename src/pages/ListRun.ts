/**
 * A run of the console: a list, the outcome of each row, and the engine that checks the list. A run
 * is planned, free of charge, before it is sent.
 */
import { signal } from "@preact/signals"
import { type AnyClientError, isClientError } from "../client/PromiseClient.ts"
import type { Item } from "../lists/UrlList.ts"
import type { Journal } from "../run/Journal.ts"
import type { Part, Plan } from "../run/Plan.ts"
import { type Connect, type Delay, Run, type Status as RunStatus } from "../run/Run.ts"
import type { KeptList, Summary } from "./KeptRun.ts"
import * as Row from "./Row.ts"

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
  /** Another window has continued or deleted the run. */
  | { readonly kind: "window" }
  | { readonly kind: "store" }

/** `planning`: the service previews the list. `asking`: the plan waits for a decision. */
export type Status = RunStatus | "planning" | "asking"

/** Another window has continued or deleted the run, so this one must not pay for it. */
export class TakenOver extends Error {}

/** A stored journal, and what a run does before it pays. */
export interface RunJournal extends Journal {
  /** Takes a stored run from other windows. */
  readonly own: () => Promise<void>
  /** Stores the run. Rejects with TakenOver when another window has taken it since `own`. */
  readonly claim: (run: { readonly summary: Summary; readonly list: KeptList }) => Promise<void>
  /** False when the browser's store lacks a part of the run. */
  readonly isKept: boolean
}

export interface Surroundings {
  readonly journal: RunJournal
  /** Makes clients with the key. */
  readonly connect: (key: string) => Connect
  readonly isOnline: () => boolean
  /** Called with the credits of each answer. */
  readonly onSpent: (credits: number) => void
}

type Facts = Pick<Summary, "id" | "startedAt" | "name" | "keyStart" | "account">

/** Who pays for a start. */
export interface Payer {
  readonly key: string
  /** The name of the key's account; undefined while the service has not named it. */
  readonly account: string | undefined
}

/** How many characters of a key are shown and stored, so that the user recognises the key. */
export const keyStartLength = 8

interface Planning {
  readonly controller: AbortController
  readonly done: number
  readonly all: number
  readonly delay?: Delay
}

export class ListRun {
  readonly id: string
  readonly startedAt: Date
  readonly #surroundings: Surroundings
  #facts: Facts
  #list: KeptList
  /** The stored list, while a plan for another one has not started. */
  #former: KeptList | undefined
  #engine: Run
  #rows: ReadonlyArray<Row.Row> | undefined
  #counts = { checked: 0, failed: 0, targets: 0 }
  #plan: Plan | undefined
  #planning: Planning | undefined
  #isAsking = false
  #halt: Halt | undefined
  #payer: Payer = { key: "", account: undefined }
  #creditsSeen: number
  #pace = { at: 0, waiting: 0 }
  // Each read of what changes reads this signal too, so a component that shows the run is redrawn.
  readonly #changes = signal(0)
  #isChanging = false

  /** Reads the journal. Rejects when the journal cannot be read. */
  static async open(facts: Facts, list: KeptList, surroundings: Surroundings): Promise<ListRun> {
    return new ListRun(facts, list, await Run.open(surroundings.journal), surroundings)
  }

  private constructor(facts: Facts, list: KeptList, engine: Run, surroundings: Surroundings) {
    this.#facts = facts
    this.id = facts.id
    this.startedAt = new Date(facts.startedAt)
    this.#list = list
    this.#engine = engine
    this.#creditsSeen = engine.creditsUsed
    this.#surroundings = surroundings
  }

  get list(): KeptList {
    this.#read()
    return this.#list
  }

  get name(): string {
    this.#read()
    return this.#facts.name
  }

  rename(name: string) {
    this.#facts = { ...this.#facts, name }
    this.#change()
  }

  get summary(): Summary {
    const { checked, creditsUsed, failed, total } = this
    return { ...this.#facts, total, checked, failed, creditsUsed }
  }

  get rows(): ReadonlyArray<Row.Row> {
    this.#read()
    this.#rows ??= this.#makeRows()
    return this.#rows
  }

  get total(): number {
    return this.list.items.length
  }

  get checked(): number {
    return this.#tally().checked
  }

  get failed(): number {
    return this.#tally().failed
  }

  get waiting(): number {
    return this.total - this.checked - this.failed
  }

  /** What the account paid for this run, in all of its starts. */
  get creditsUsed(): number {
    this.#read()
    return this.#engine.creditsUsed
  }

  /** Targets that were bought anew because their answers were lost, and what those may have cost. */
  get givenUp(): Part {
    this.#read()
    return this.#engine.givenUp
  }

  /** The most that a new run of the whole list costs; undefined while the price is unknown. */
  get priceOfAll(): number | undefined {
    return this.#engine.costOf(this.#tally().targets)
  }

  /** What the last start found out; undefined before. */
  get plan(): Plan | undefined {
    this.#read()
    return this.#plan
  }

  /** The number of URLs that are previewed, and of those that have to be. */
  get planning(): Pick<Planning, "done" | "all"> | undefined {
    this.#read()
    return this.#planning
  }

  get status(): Status {
    this.#read()
    if (this.#planning !== undefined) return "planning"
    if (this.#isAsking) return "asking"
    if (this.#engine.isActive) return this.#engine.status
    if (this.waiting === 0) return "done"
    return this.#halt === undefined ? "stopped" : "halted"
  }

  get isActive(): boolean {
    this.#read()
    return this.#planning !== undefined || this.#engine.isActive
  }

  get halt(): Halt | undefined {
    this.#read()
    return this.#halt
  }

  /** The delay that ends last, of all requests that wait for a retry. */
  get delay(): Delay | undefined {
    this.#read()
    return this.#planning === undefined ? this.#engine.delay : this.#planning.delay
  }

  get isKept(): boolean {
    return this.#surroundings.journal.isKept
  }

  /** Stores what could not be stored before. */
  async keep() {
    const list = this.#former ?? this.#list
    await this.#surroundings.journal.claim({ summary: this.summary, list })
  }

  /** True when the run was last planned or sent with this key. */
  isKeyOf(key: string | undefined): boolean {
    return this.#payer.key === key
  }

  /** The first characters of the key that last paid for the run. */
  get keyStart(): string | undefined {
    return this.#facts.keyStart
  }

  /** The name of the account that last paid for the run. */
  get account(): string | undefined {
    return this.#facts.account
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

  /**
   * Plans the run, free of charge, and waits for `go`, which stores the run. A changed `list` then
   * replaces the list of the run. `isRetry` is true to check failed addresses again. Resolves to undefined when the plan
   * failed; `halt` says why.
   */
  async prepare(payer: Payer, list = this.#list, isRetry = false): Promise<Plan | undefined> {
    const controller = new AbortController()
    this.#planning = { controller, done: 0, all: list.items.length }
    this.#isAsking = false
    this.#halt = undefined
    this.#former ??= this.#list
    this.#list = list
    this.#payer = payer
    this.#change()
    try {
      const { journal } = this.#surroundings
      if (!journal.isKept) await this.keep()
      await journal.own()
      this.#engine = await Run.open(journal)
      this.#creditsSeen = this.#engine.creditsUsed
      this.#plan = await this.#engine.plan(
        list.items.map(({ url }) => url),
        this.#connectToPlan,
        {
          isRetry,
          signal: controller.signal,
          onProgress: (done, all) => this.#previewed({ done, all }),
        },
      )
      this.#isAsking = true
      return this.#plan
    } catch (error) {
      if (!controller.signal.aborted) this.#halt = this.#haltOf(error)
      return undefined
    } finally {
      this.#planning = undefined
      this.#change()
    }
  }

  /**
   * Sends what the plan found. Does nothing without a plan that waits. `around` is
   * called with what stores the run, and rejects when the run must not start.
   */
  async go(
    doubtful: "again" | "leaveOut" = "leaveOut",
    around = (store: () => Promise<void>) => store(),
  ): Promise<void> {
    if (!this.#isAsking) return
    this.#isAsking = false
    const { account, key } = this.#payer
    this.#facts = {
      ...this.#facts,
      keyStart: key.slice(0, keyStartLength),
      ...(account !== undefined && { account }),
    }
    this.#pace = { at: Date.now(), waiting: this.waiting }
    const store = async () => {
      const { summary } = this
      await this.#surroundings.journal.claim({ summary, list: this.#list })
      this.#former = undefined
    }
    try {
      await this.#engine.go({
        connect: this.#connect,
        doubtful,
        begin: () => around(store),
        onChange: () => this.#answered(),
      })
      const { halt } = this.#engine
      if (halt !== undefined) this.#halt = this.#haltOf(halt.error, halt.availableCredits)
    } catch (error) {
      this.#halt = this.#haltOf(error)
    }
    this.#change()
  }

  /** Leaves a plan that waits, and its list. */
  leave() {
    this.#isAsking = false
    this.#list = this.#former ?? this.#list
    this.#former = undefined
    this.#change()
  }

  /** Stops when the batches in flight have ended. A second call aborts the batches in flight. */
  stop() {
    this.#planning?.controller.abort()
    this.#engine.stop()
    this.#change()
  }

  /** A retry of an offline device would fail too. */
  readonly #connect: Connect = (onRetry) =>
    this.#surroundings.connect(this.#payer.key)((error, waitMs) => {
      if (!this.#surroundings.isOnline()) throw error
      return onRetry?.(error, waitMs)
    })

  readonly #connectToPlan: Connect = () =>
    this.#connect((error, waitMs) =>
      this.#previewed({ delay: { error, until: Date.now() + waitMs } }),
    )

  #previewed(part: Partial<Planning>) {
    if (this.#planning === undefined) return
    const { delay: _, ...planning } = this.#planning
    this.#planning = { ...planning, ...part }
    this.#change()
  }

  #answered() {
    const { creditsUsed } = this.#engine
    if (creditsUsed !== this.#creditsSeen)
      this.#surroundings.onSpent(creditsUsed - this.#creditsSeen)
    this.#creditsSeen = creditsUsed
    this.#change()
  }

  #haltOf(error: unknown, available?: number): Halt {
    if (error instanceof TakenOver) return { kind: "window" }
    return isClientError(error) ? this.#clientHaltOf(error, available) : { kind: "store" }
  }

  #clientHaltOf(error: AnyClientError, available: number | undefined): Halt {
    switch (error._tag) {
      case "Unauthorized":
        return { kind: "key" }
      case "InsufficientCredits":
        // The price has risen above the plan's, or the budget of the key is spent.
        return available === undefined || available >= (this.#engine.costOf(1) ?? Infinity)
          ? { kind: "refused", message: error.message }
          : { kind: "credits", available }
      case "ConnectionFailed":
      case "TimedOut":
        return this.#surroundings.isOnline()
          ? { kind: "server", answers: false }
          : { kind: "offline" }
      case "ServiceFailed":
        return { kind: "server", answers: true }
      default:
        return { kind: "refused", message: error.message }
    }
  }

  #tally() {
    void this.rows
    return this.#counts
  }

  #makeRows(): ReadonlyArray<Row.Row> {
    const firsts = new Map<string, number>()
    let [checked, failed] = [0, 0]
    const rows = this.#list.items.map((item: Item, i) => {
      const outcome = this.#engine.outcomeOf(item.url)
      if (outcome !== undefined && "reason" in outcome) failed++
      else if (outcome !== undefined) checked++
      const target = this.#engine.targetOf(item.url)
      const first = target === undefined ? undefined : firsts.get(target)
      if (target !== undefined && first === undefined) firsts.set(target, i + 1)
      return Row.make(item, i + 1, outcome, first)
    })
    this.#counts = { checked, failed, targets: firsts.size }
    return rows
  }

  #read() {
    void this.#changes.value
  }

  /** Redraws at most once per 150 ms, or once per second for a long list, which is slow to sort. */
  #change() {
    this.#rows = undefined
    if (this.#isChanging) return
    this.#isChanging = true
    setTimeout(
      () => {
        this.#isChanging = false
        this.#changes.value++
      },
      this.#list.items.length > longList ? 1000 : 150,
    )
  }
}

const longList = 20_000
