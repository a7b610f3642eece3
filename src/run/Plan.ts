/** What a run would do and cost for a list. */

/** A number of targets, and the most that they can cost; undefined when the price is unknown. */
export interface Part {
  readonly targets: number
  readonly credits: number | undefined
}

export interface Plan {
  /** The URLs of the list. `total` is `valid + invalid`. */
  readonly total: number
  readonly valid: number
  readonly invalid: number
  /** Valid URLs whose target an earlier URL of the list has. */
  readonly duplicates: number
  /** Distinct targets of the list that have an answer in the journal. */
  readonly answered: number
  /** How many of these answers have no figures, which costs nothing. */
  readonly failed: number
  /** When the oldest of these answers arrived, in epoch milliseconds. */
  readonly oldest: number | undefined
  /** What the run has paid so far, for URLs that have left the list too. */
  readonly paid: number
  /** The price of one target; undefined while nobody has named it. */
  readonly price: number | undefined
  /** Distinct targets that were never sent, and whose figures the service had at their preview. */
  readonly known: number
  /** Distinct targets that were never sent, and whose figures the service had not. */
  readonly toBuy: number
  /** Targets of the batches that are sent again: an address of the list has no answer in them. */
  readonly repeated: number
  /** How many of these targets are not in the list. They are in a batch with one that is. */
  readonly repeatedOthers: number
  /** The most that the run can still cost, without `doubtful`; undefined for an unknown price. */
  readonly maxCredits: number | undefined
  /**
   * Targets that were sent without an answer, so long ago that the service has forgotten the
   * request: another check may charge them a second time.
   */
  readonly doubtful: Part
  /** Targets that an earlier start bought anew for this reason: `paid` may lack their first price. */
  readonly givenUp: Part
  /** What the account has; undefined when nothing is left to send, so that nobody was asked. */
  readonly availableCredits: number | undefined
}
