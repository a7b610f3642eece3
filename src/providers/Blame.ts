/**
 * Decides whose fault the failed calls to one vendor are: a target's, an account's or the vendor's.
 * While the vendor answers other accounts, the failures of one account are its own. So they neither
 * open the circuit nor delay others, and the account is not asked for anew after too many of them.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import { type Outcome, providerFailed } from "../Metrics.ts"
import type { ProviderError } from "../MetricsProvider.ts"
import { Lru } from "../cache/Lru.ts"

/** For whom a call is made: one account, or `several` when accounts share the call. */
export class Caller extends Context.Reference<Caller>()("authority/providers/Caller", {
  defaultValue: (): { readonly account: string } => ({ account: "" }),
}) {}

/** The `account` of a call for several accounts. No account has this id. */
export const several = "*"

interface Conduct {
  /** When the vendor failed calls for this account, oldest first, on the monotonic clock. */
  readonly failedAt: ReadonlyArray<number>
  /** Until this time, the account's targets are sent in calls of their own. */
  readonly apartUntil: number
}

/** A target that the vendor is not asked for until a time, because it did not know or refused it. */
interface Remembered {
  readonly outcome: Outcome
  readonly until: number
  /** The row of failures in which the vendor refused the target. The end of the row forgets it. */
  readonly row: number
}

const innocent: Conduct = { failedAt: [], apartUntil: Number.NEGATIVE_INFINITY }

/** All times are milliseconds of the monotonic clock. */
export class Blame {
  private accounts = new Lru<Conduct>(maxAccounts)
  private readonly remembered = new Lru<Remembered>(maxTargets)
  private readonly unknownMs: number
  /** The last two answers of the vendor for different accounts, the latest first. */
  private answers: ReadonlyArray<{ readonly account: string; readonly at: number }> = []
  /** The accounts whose calls failed since the vendor's last answer. */
  private failing = new Set<string>()
  /** Those of `failing` whose calls had not failed for five minutes. */
  private unsuspected = new Set<string>()
  private failingSince = 0
  /** How often the vendor was at fault. */
  private row = 0
  /** The vendor's recent refusals, oldest first. */
  private refusals: ReadonlyArray<{ readonly account: string; readonly at: number }> = []
  private readonly maxRefusals: number

  /**
   * With `maxRefusals` in five minutes, the vendor is not asked at all. `unknownTtl` is how long it
   * is not asked again for a target that it does not know.
   */
  constructor(maxRefusals = Number.POSITIVE_INFINITY, unknownTtl: Duration.DurationInput = 0) {
    this.maxRefusals = maxRefusals
    this.unknownMs = Duration.toMillis(unknownTtl)
  }

  /** Remembers the outcome of a target that the vendor does not know. */
  remember(page: string, outcome: Outcome, now: number): void {
    if (outcome._tag === "Failed" && outcome.cause === "unknown" && this.unknownMs > 0) {
      const until = now + this.unknownMs
      this.remembered.set(page, { outcome, until, row: Number.POSITIVE_INFINITY })
    }
  }

  /** The outcome of a target that the vendor did not know, or refused, when it was asked last. */
  rememberedOutcome(page: string, now: number): Outcome | undefined {
    const found = this.remembered.get(page)
    return found !== undefined && found.until > now && found.row >= this.row
      ? found.outcome
      : undefined
  }

  /** Records an answer of the vendor. */
  answered(account: string, now: number): void {
    const [latest] = this.answers
    const other = latest?.account === account ? this.answers[1] : latest
    this.answers = [{ account, at: now }, ...(other === undefined ? [] : [other])]
    this.failing.clear()
    this.unsuspected.clear()
    const { apartUntil, failedAt } = this.conductOf(account)
    if (apartUntil > now) this.accounts.set(account, { failedAt, apartUntil: now })
  }

  /** Records a call that failed. Returns the accounts that are blocked from now on. */
  failed(account: string, reason: ProviderError["reason"], now: number): ReadonlyArray<string> {
    const recent = this.conductOf(account).failedAt.filter((at) => at > now - windowMs)
    if (this.failing.size === 0) this.failingSince = now
    this.failing.add(account)
    if (recent.length === 0) this.unsuspected.add(account)
    if (!this.answersOthers(account, now)) return []
    const suspects = new Set([account, ...this.refusals.map((refusal) => refusal.account)])
    const free = [...suspects].filter((suspect) => !this.isBlocked(suspect, now))
    if (isRefusal.has(reason)) {
      this.refusals = [...this.refusals, { account, at: now }].slice(-maxKept)
    }
    if (account !== several) {
      const failedAt = [...recent, now].slice(-maxFailures)
      this.accounts.set(account, { failedAt, apartUntil: now + apartMs })
    }
    return free.filter((suspect) => this.isBlocked(suspect, now))
  }

  /** Remembers a target whose own call failed, while the vendor answered another account. */
  refused(page: string, reason: ProviderError["reason"], account: string, now: number): void {
    if (isOfTarget.has(reason) && this.answersOthers(account, now)) {
      const until = now + refusedMs
      this.remembered.set(page, { outcome: refusedBefore, until, row: this.row })
    }
  }

  /** From now on, sends the targets of these accounts in calls of their own. */
  separate(accounts: Iterable<string>, now: number): void {
    for (const account of accounts) {
      this.accounts.set(account, { ...this.conductOf(account), apartUntil: now + apartMs })
    }
  }

  isApart(account: string, now: number): boolean {
    return this.conductOf(account).apartUntil > now
  }

  /** The outcome of a target that is not asked for; undefined for a target that is. */
  verdict(page: string, account: string, now: number): Outcome | undefined {
    return this.rememberedOutcome(page, now) ?? (this.isBlocked(account, now) ? blocked : undefined)
  }

  /** True when one target of a call may have caused its failure. */
  mayBeOfOneTarget(reason: ProviderError["reason"], now: number): boolean {
    return reason === "Rejected" || (isOfTarget.has(reason) && !this.isVendors(now))
  }

  /** True when the failures since the last answer are the vendor's fault. */
  isVendors(now: number): boolean {
    const [account = several] = this.failing
    const isLong = now - this.failingSince >= rowMs
    return (isLong && this.unsuspected.size >= minAccounts) || !this.answersOthers(account, now)
  }

  /** Forgets all failures, because they were the vendor's fault. */
  forget(): void {
    this.accounts = new Lru(maxAccounts)
    this.refusals = []
    this.row += 1
  }

  private isBlocked(account: string, now: number): boolean {
    const { failedAt } = this.conductOf(account)
    if (failedAt.length === 0 && this.refusals.length === 0) return false
    if (account === several || !this.answersOthers(account, now)) return false
    const [oldest = now, ...later] = failedAt
    if (later.length === maxFailures - 1 && oldest > now - windowMs) return true
    const recent = this.refusals.filter(({ at }) => at > now - windowMs)
    const own = recent.filter((refusal) => refusal.account === account).length
    // So several accounts together leave a part of the vendor's limit to the others.
    return own > 0 && own >= this.maxRefusals - recent.length
  }

  /** True when the vendor answered another account in the last minute. */
  private answersOthers(account: string, now: number): boolean {
    return this.answers.some(
      (answer) =>
        answer.at > now - answersMs && (answer.account !== account || account === several),
    )
  }

  private conductOf(account: string): Conduct {
    return this.accounts.get(account) ?? innocent
  }
}

/** The reasons of failed calls that count towards a vendor's limit on answers with a 4xx status. */
export const isRefusal: ReadonlySet<ProviderError["reason"]> = new Set([
  "Exhausted",
  "Refused",
  "Rejected",
  "Throttled",
])

/** The reasons of a failed call that a target may have caused. */
const isOfTarget = new Set<ProviderError["reason"]>(["Rejected", "Unavailable", "Malformed"])

const minuteMs = 60_000

/** How long an answer to one account shows that the failures of another are its own. */
const answersMs = minuteMs

/** An account with `maxFailures` failed calls within `windowMs` is not asked for anew. */
const maxFailures = 20
const maxKept = 100
const windowMs = 5 * minuteMs

const refusedMs = 10 * minuteMs
const apartMs = 10 * minuteMs

/** So many accounts that fail for so long, without an answer between, show that the vendor fails. */
const minAccounts = 3
const rowMs = 2000

const maxAccounts = 10_000
const maxTargets = 10_000

const refusedBefore = providerFailed("the provider refused this target in the last ten minutes")

const blocked = providerFailed(
  "the provider refused too many calls for targets of this account in the last five minutes",
)
