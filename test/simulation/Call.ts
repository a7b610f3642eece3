/** A call of a simulated process to a simulated vendor. */
import type { Target } from "../../src/check/Target.ts"
import type { Process } from "./World.ts"

/** The process that makes a call. */
export type Caller = Pick<Process, "isRunning" | "name">

/** A call to a vendor. All times are milliseconds of `World.now`. */
export class Call {
  readonly process: Caller
  readonly provider: string
  readonly startedAt: number
  /** Infinite while the call is in flight. */
  endedAt = Number.POSITIVE_INFINITY
  /** True if a fault made the whole call slow or made it fail. */
  hasFault = false
  /**
   * True if the vendor asked for a pause, because its rate limit was exceeded or its quota is used
   * up.
   */
  asksForPause = false
  /** The rows that the vendor bills. */
  billedRows = 0
  /** True if the process cannot know what the vendor bills. */
  isAnswerLost = false
  /** The pages or domains whose rows a fault has removed or spoilt. */
  readonly spoilt = new Set<string>()
  /** True for each page that the call gave figures for; false for the other pages of the call. */
  readonly pages: Map<string, boolean>

  constructor(
    process: Caller,
    provider: string,
    startedAt: number,
    targets: ReadonlyArray<Target>,
  ) {
    this.process = process
    this.provider = provider
    this.startedAt = startedAt
    this.pages = new Map(targets.map(({ page }) => [page, false]))
  }

  get isSpoilt(): boolean {
    return this.hasFault || this.spoilt.size > 0
  }
}
