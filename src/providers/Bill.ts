/**
 * The bill of one lookup: a vendor's adapter writes on it what the vendor said about the cost, and
 * `VendorHttp` whether the vendor may have billed a request without giving a usable answer.
 */
import * as Context from "effect/Context"
import type { ProviderError } from "../MetricsProvider.ts"

export class Billing {
  /** The billed rows; undefined when the adapter knows none, which means a row for each target. */
  rows: number | undefined
  /** In millionths of the vendor's currency; undefined when the vendor does not say. */
  cost: number | undefined
  private isWatched = false
  private unanswered = 0

  /** Adds billed rows. */
  addRows(count: number): void {
    this.rows = (this.rows ?? 0) + count
  }

  /** Adds a cost in the vendor's currency. Ignores what is not an amount of money. */
  addCost(amount: unknown): void {
    if (typeof amount !== "number" || !(amount >= 0 && amount < 1e9)) return
    this.cost = (this.cost ?? 0) + Math.round(amount * 1e6)
  }

  /** A request is sent now. Until `settled`, the vendor may have billed it. */
  sent(): void {
    this.isWatched = true
    this.unanswered += 1
  }

  /** The vendor answered the request, or surely did not receive it. */
  settled(): void {
    this.unanswered -= 1
  }

  /** True when the vendor may have billed more than this bill has. `reason`: why the lookup failed. */
  isOpen(reason: ProviderError["reason"] | undefined): boolean {
    if (this.isWatched && this.unanswered > 0) return true
    return reason === "Malformed" || (!this.isWatched && isSilence.has(reason))
  }
}

const isSilence = new Set<ProviderError["reason"] | undefined>(["Timeout", "Unreachable"])

/** The bill of the current lookup. It counts only within a purchase. */
export class Bill extends Context.Reference<Bill>()("authority/providers/Bill", {
  defaultValue: () => new Billing(),
}) {}
