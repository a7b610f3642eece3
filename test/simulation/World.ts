/**
 * A simulated world, which decides everything that is otherwise left to chance. Processes run in
 * it, and each process runs Effect fibers. The world decides which fiber runs next, when a fiber is
 * pre-empted, and when time passes. All decisions come from one seed, so a seed can be replayed.
 *
 * - Scheduling: each process has a `Scheduler` that collects tasks. The world picks the next one.
 * - Pre-emption: a fiber yields after a number of operations, which is drawn anew each time.
 * - Time: each process has a `Clock`, whose sleeps are timers of the world.
 * - The event loop: `run` is synchronous, so nothing that waits for the real event loop can happen.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectRandom from "effect/Random"
import type { Scheduler } from "effect/Scheduler"
import { Random } from "./Random.ts"

type Run = () => void

interface Task {
  readonly run: Run
  /** The fiber to which the task belongs. It shows which tasks alternate. */
  readonly fiber: unknown
}

interface Timer {
  readonly process: Process
  /** Milliseconds of `World.now`. */
  readonly at: number
  readonly run: Run
}

/**
 * The world cannot end, because nothing is left to run or because it has used all its steps or
 * time.
 */
export class Stuck extends Error {}

/**
 * The start of a world: a few seconds before a month ends in UTC, so that budgets reset within the
 * world.
 */
export const startsAt = Date.UTC(2027, 1, 1) - 4000

const maxSteps = 3_000_000

/** The most simulated time of one world, in milliseconds. */
const maxTimeMs = 20 * 60_000

/** The chance that time passes before a step even though a task is ready. */
const timePasses = 0.04

/** The longest duration of one step of work, in milliseconds. */
const maxStepMs = 5

export class World {
  readonly seed: number
  /** The true time, in epoch milliseconds. */
  now = startsAt
  steps = 0
  /** A hash of all decisions and notes. Equal seeds give equal traces. */
  trace = 0x811c9dc5
  /** How often each kind of event has happened. */
  readonly counts = new Map<string, number>()
  /** The recorded notes, each with its time. Undefined if the world does not record them. */
  readonly notes: Array<string> | undefined
  /** The number of open transactions. Used to count how often fibers alternate within one. */
  openTransactions = 0

  private readonly random: Random
  private readonly startedAt = this.now
  private endsAt = this.now + maxTimeMs
  private readonly processes: Array<Process> = []
  private timers: Array<Timer> = []
  private latest: unknown

  constructor(seed: number, options: { readonly record?: boolean } = {}) {
    this.seed = seed
    this.random = new Random(seed)
    this.notes = options.record === true ? [] : undefined
  }

  /** Adds a process, which does nothing before `Process.fork`. */
  process(name: string): Process {
    const process = new Process(this, name, new Random(this.seed, 1 + this.processes.length))
    this.processes.push(process)
    return process
  }

  /** Runs all tasks until `isOver` is true. Throws Stuck when that never happens. */
  run(isOver: () => boolean): void {
    while (!isOver()) {
      if (++this.steps > maxSteps || this.now > this.endsAt) {
        throw new Stuck(`no end after ${this.steps} steps and ${this.elapsedMs} ms`)
      }
      const ready = this.processes.reduce((sum, process) => sum + process.readyCount, 0)
      if (ready === 0) this.waitForTimer()
      else if (this.random.chance(timePasses)) this.pass(this.random.between(1, maxStepMs))
      else this.step(this.random.below(ready))
    }
  }

  /** Makes hours pass at once, as if all machines slept. Each timer runs once. */
  sleep(ms: number): void {
    this.endsAt += ms
    this.pass(ms)
  }

  /** Simulated milliseconds since the start of the world. */
  get elapsedMs(): number {
    return this.now - this.startedAt
  }

  /** Runs a function in a process after some time. Call the result to cancel it. */
  after(process: Process, ms: number, run: Run): Run {
    const timer = { process, at: this.now + Math.max(0, Math.ceil(ms)), run }
    this.timers.push(timer)
    return () => {
      this.timers = this.timers.filter((other) => other !== timer)
    }
  }

  forget(process: Process): void {
    this.timers = this.timers.filter((timer) => timer.process !== process)
  }

  /** Counts an event, to report which events the seeds covered. */
  count(event: string, times = 1): void {
    this.counts.set(event, (this.counts.get(event) ?? 0) + times)
  }

  /** Adds an event to the trace. The event must depend on the seed alone. */
  note(process: string, event: string): void {
    for (let i = 0; i < event.length; i++) this.mix(event.charCodeAt(i))
    this.notes?.push(`${(this.elapsedMs / 1000).toFixed(3).padStart(8)} s  ${process}: ${event}`)
  }

  private mix(value: number) {
    this.trace = Math.imul(this.trace ^ value, 0x01000193) >>> 0
  }

  private step(pick: number) {
    let index = pick
    for (const process of this.processes) {
      if (index >= process.readyCount) {
        index -= process.readyCount
        continue
      }
      const task = process.take(index)
      if (this.openTransactions > 0 && task.fiber !== this.latest) this.count("interleavings")
      this.latest = task.fiber
      this.mix(pick)
      return task.run()
    }
  }

  private pass(ms: number) {
    this.now += ms
    this.mix(ms)
    const due = this.timers.filter(({ at, process }) => at <= this.now && process.isRunning)
    for (const timer of due) {
      // An earlier timer may have frozen or killed the process of this timer.
      if (!timer.process.isRunning) continue
      this.timers = this.timers.filter((other) => other !== timer)
      timer.run()
    }
  }

  private waitForTimer() {
    const next = this.timers.reduce(
      (least, { at, process }) => (process.isRunning ? Math.min(least, at) : least),
      Number.POSITIVE_INFINITY,
    )
    if (next === Number.POSITIVE_INFINITY)
      throw new Stuck("nothing is left to run, and the simulation is not at its end")
    this.pass(Math.max(0, next - this.now))
  }
}

/**
 * A simulated process: fibers that live and die together, and share a clock, which may be wrong.
 */
export class Process {
  readonly name: string
  /** How far the time of day is ahead of the true time, in milliseconds. */
  clockAheadMs = 0
  /** When the process was last thawed, in milliseconds of `World.now`. */
  thawedAt = Number.NEGATIVE_INFINITY
  private isFrozen = false
  private isDead = false
  private ready: Array<Task> = []
  private readonly world: World
  private readonly random: Random
  /** After how many operations the running fiber yields. */
  private limit: number
  /** The largest limit: in some worlds fibers yield often, in others rarely. */
  private readonly maxLimit: number

  constructor(world: World, name: string, random: Random) {
    this.world = world
    this.name = name
    this.random = random
    this.maxLimit = random.pick([30, 100, 250])
    this.limit = this.draw()
  }

  get isRunning(): boolean {
    return !this.isFrozen && !this.isDead
  }

  get readyCount(): number {
    return this.isRunning ? this.ready.length : 0
  }

  fork<A, E>(effect: Effect.Effect<A, E>) {
    const placed = effect.pipe(
      Effect.withClock(this.clock),
      Effect.withRandom(EffectRandom.make(this.random.next())),
    )
    return Effect.runFork(placed, { scheduler: this.scheduler })
  }

  /** Stops the process for a while. Its timers and tasks wait. */
  freeze(): void {
    this.isFrozen = true
  }

  thaw(): void {
    this.isFrozen = false
    this.thawedAt = this.world.now
  }

  /** Ends the process as `kill -9` does: none of its fibers runs any more. */
  kill(): void {
    this.isDead = true
    this.ready = []
    this.world.forget(this)
  }

  /** Removes and returns a task. The last task takes its place. */
  take(index: number): Task {
    const task = this.ready[index]
    const last = this.ready.pop()
    if (task === undefined || last === undefined) throw new Stuck("there is no such task")
    if (task !== last) this.ready[index] = last
    return task
  }

  private add(task: Task) {
    if (!this.isDead) this.ready.push(task)
  }

  private readonly scheduler: Scheduler = {
    scheduleTask: (run, _priority, fiber) => this.add({ run, fiber: fiber ?? run }),
    // A fixed chance per operation could make a fiber yield for ever, because yielding takes
    // operations too.
    shouldYield: (fiber) => {
      if (fiber.currentOpCount <= this.limit) return false
      this.limit = this.draw()
      return 0
    },
  }

  /**
   * Draws a limit of at least 40, because a yield itself takes about twenty operations. Small
   * limits are likelier.
   */
  private draw() {
    return 40 + Math.floor(this.random.next() ** 3 * this.maxLimit)
  }

  private timeOfDay() {
    return this.world.now + this.clockAheadMs
  }

  /** A clock whose time of day may jump, but whose monotonic time never does. */
  private readonly clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => this.timeOfDay(),
    unsafeCurrentTimeNanos: () => BigInt(this.world.now) * 1_000_000n,
    currentTimeMillis: Effect.sync(() => this.timeOfDay()),
    currentTimeNanos: Effect.sync(() => BigInt(this.world.now) * 1_000_000n),
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        const cancel = this.world.after(this, Duration.toMillis(duration), () =>
          resume(Effect.void),
        )
        return Effect.sync(cancel)
      }),
  }
}

/** Waits for ever. Unlike `Effect.never`, it makes no timer, which would keep Node alive. */
export const never: Effect.Effect<never> = Effect.async<never>(() => {})
