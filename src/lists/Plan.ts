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
  /** Distinct targets of the list that have an answer in the store. They cost nothing. */
  readonly answered: number
  /** How many of these answers have no figures. */
  readonly failed: number
  /** When the oldest of these answers arrived, in epoch milliseconds. */
  readonly oldest: number | undefined
  /** The price of one target; undefined while nobody has named it. */
  readonly price: number | undefined
  /** Distinct targets that have no answer, and whose figures the service has. */
  readonly known: number
  /** Distinct targets that have no answer, and whose figures the service has not. */
  readonly toBuy: number
  /** Targets of the batches without an answer that are repeated: they have an address of the list. */
  readonly repeated: number
  /** The URLs of these targets that are not in the list. */
  readonly repeatedOthers: ReadonlyArray<string>
  /** The most that the run can cost, without `doubtful`; undefined for an unknown price. */
  readonly maxCredits: number | undefined
  /**
   * Targets that were sent without an answer, so long ago that the service has forgotten the
   * request: another check may charge them a second time.
   */
  readonly doubtful: Part
  /** What the account has; undefined when nobody was asked, or the key may not ask. */
  readonly availableCredits: number | undefined
  /** What is left of the key's budget; undefined for a key without one. */
  readonly budget: number | undefined
}
