/** Decides from the seed which faults occur in a simulation, and how often. */
import { Random } from "./Random.ts"
import type { World } from "./World.ts"

/** How likely each fault is at each opportunity, in seeds that have this fault. */
const chances = {
  "store: busy at BEGIN": 0.03,
  "store: connection lost at BEGIN": 0.02,
  "store: connection lost at a statement": 0.006,
  "store: disk full at a statement": 0.004,
  "store: refused data": 0.1,
  "store: slow statement": 0.01,
  "store: disk full at COMMIT": 0.02,
  "store: connection lost before COMMIT took effect": 0.02,
  "store: lost acknowledgement": 0.06,
  "store: slow COMMIT": 0.02,
  "store: slow acknowledgement": 0.02,
  "crash before COMMIT": 0.02,
  "crash between COMMIT and answer": 0.15,
  "vendor: Unreachable": 0.06,
  "vendor: Timeout": 0.06,
  "vendor: Throttled": 0.06,
  "vendor: Unavailable": 0.06,
  "vendor: Refused": 0.04,
  "vendor: Exhausted": 0.04,
  "vendor: Malformed": 0.06,
  "vendor: slow": 0.25,
  "vendor: late": 0.15,
  "vendor: silent": 0.06,
  "vendor: wrong order": 0.3,
  "vendor: too few rows": 0.08,
  "vendor: off the scale": 0.05,
  "client: hangs up": 0.15,
  "client: repeats while the first request is in progress": 0.15,
  "client: sends another body with the same key": 0.1,
} as const

/**
 * Faults of a whole process or of the whole store. In a seed that has such a fault, it occurs once
 * or twice.
 */
const events = [
  "crash",
  "freeze",
  "freeze past the lease",
  "clock jumps forward",
  "clock jumps back",
  "outage: the store refuses connections",
  "outage: the store stops answering",
] as const

/** The largest jump of a clock, in milliseconds. A lease may end later by as much. */
export const maxJumpMs = 20_000

type Fault = keyof typeof chances
export type Event = (typeof events)[number]
type Conflict = `store: conflict at ${string}`

/**
 * The share of statements and COMMITs that the store fails with error 40001, as a distributed
 * engine may. No request may fail because of that, so a conflict does not count as trouble.
 */
const conflictChance = 0.1

/**
 * The share of reads outside a transaction whose answer is delayed, as a server's may be, and the
 * longest delay in milliseconds. No request may fail because of that.
 */
const lateReadChance = 0.2
const lateReadMs = 40

const mixed: ReadonlyArray<string> = [...Object.keys(chances), ...events]

/** All kinds of faults. The simulator prints how often each kind occurred. */
export const kinds: ReadonlyArray<string> = [
  ...mixed,
  "store: conflict at a statement",
  "store: conflict at COMMIT",
  "store: late answer to a read",
]

/**
 * The share of seeds that have faults of a single kind, which makes their traces easier to
 * understand.
 */
const quietShare = 0.2

export class Faults {
  /** When the store or a process last had trouble; milliseconds of `World.now`. */
  troubleAt = Number.NEGATIVE_INFINITY
  /** When a process last stood still, or its clock was wrong; milliseconds of `World.now`. */
  stalledAt = Number.NEGATIVE_INFINITY
  /** The ids of the requests whose data the store refuses. */
  readonly refused = new Set<string>()
  private isOver = false
  // Has its own random stream, so that the other faults of a seed stay as they are.
  private readonly conflicts: Random
  private readonly hasConflicts: boolean
  private readonly lateReads: Random
  private readonly hasLateReads: boolean
  private readonly world: World
  private readonly random: Random
  private readonly rates: ReadonlyMap<string, number>
  /** The faults of a whole process or store, with their times in milliseconds from the start. */
  readonly events: ReadonlyArray<{ readonly event: Event; readonly atMs: number }>

  /**
   * Faults happen within the first `lengthMs`. If `conflicts` is true, the store has some
   * conflicts.
   */
  constructor(world: World, lengthMs: number, conflicts: boolean) {
    this.world = world
    this.conflicts = new Random(world.seed, 102)
    this.hasConflicts = this.conflicts.chance(0.3) || conflicts
    this.lateReads = new Random(world.seed, 103)
    this.hasLateReads = this.lateReads.chance(0.3)
    const random = new Random(world.seed, 101)
    this.random = random
    const isQuiet = random.chance(quietShare)
    const only = random.below(mixed.length)
    const has = (kind: number) => (isQuiet ? kind === only : random.chance(0.3))
    this.rates = new Map(
      Object.entries(chances).flatMap(([kind, chance], i) =>
        has(i) ? [[kind, Math.min(0.8, chance * random.pick([0.5, 1, 3]))]] : [],
      ),
    )
    const first = Object.keys(chances).length
    this.events = events.flatMap((event, i) =>
      has(first + i)
        ? Array.from({ length: random.between(1, 2) }, () => ({
            event,
            atMs: random.below(lengthMs),
          }))
        : [],
    )
  }

  /** Decides whether the fault happens now. Counts the fault if so. */
  strikes(fault: Fault, process: string): boolean {
    const rate = this.rates.get(fault)
    if (rate === undefined || this.isOver || !this.random.chance(rate)) return false
    this.happens(fault, process)
    return true
  }

  /** Decides whether the store reports a conflict now. Counts the conflict if so. */
  conflict(at: "a statement" | "COMMIT", process: string): boolean {
    if (!this.hasConflicts || this.isOver || !this.conflicts.chance(conflictChance)) return false
    this.happens(`store: conflict at ${at}`, process)
    return true
  }

  /** Decides how late the answer to a read is, in milliseconds. Counts the fault if it is late. */
  lateRead(process: string): number {
    if (!this.hasLateReads || this.isOver || !this.lateReads.chance(lateReadChance)) return 0
    this.happens("store: late answer to a read", process)
    return this.lateReads.between(1, lateReadMs)
  }

  /** How much later than its length a lease may end, because a clock jumped. */
  get lateLeaseMs(): number {
    return this.events.some(({ event }) => event.startsWith("clock jumps")) ? maxJumpMs : 0
  }

  happens(fault: Fault | Event | Conflict | "store: late answer to a read", process: string): void {
    this.world.count(fault)
    this.world.note(process, `FAULT ${fault}`)
  }

  /**
   * Records that the store or a process has trouble for `ms` from now, so that requests may fail.
   */
  trouble(ms = 0): void {
    this.troubleAt = Math.max(this.troubleAt, this.world.now + ms)
  }

  /**
   * Records that a process stands still, or that its clock jumps, for `ms` from now, so that
   * answers may be late.
   */
  stall(ms: number): void {
    this.trouble(ms)
    this.stalledAt = Math.max(this.stalledAt, this.world.now + ms)
  }

  between(least: number, most: number): number {
    return this.random.between(least, most)
  }

  /** Ends all faults. */
  stop(): void {
    this.isOver = true
  }

  get areOver(): boolean {
    return this.isOver
  }
}
