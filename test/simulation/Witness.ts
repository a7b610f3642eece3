/**
 * Watches all requests and their replies, and checks three rules: the credits in an answer are
 * charged, nothing else is charged, and no request fails without a reason.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { BatchResponse } from "../../src/contract/Api.ts"
import { undecidedChargeMessage, undecidedMessage } from "../../src/contract/Envelope.ts"
import * as Budget from "../../src/ledger/budgets/Budget.ts"
import type { StatementEntry } from "../../src/ledger/LedgerEntry.ts"
import type { Provenance } from "../../src/check/Metrics.ts"
import type { RequestId } from "../../src/check/RequestId.ts"
import { Target } from "../../src/check/Target.ts"
import type { Faults } from "./Faults.ts"
import {
  type Answer,
  type Ask,
  leaseMs,
  price,
  type Replica,
  type Reply,
  timeoutMs,
} from "./Service.ts"
import type { Customer } from "./Template.ts"
import { boughtAt, periodMs, settingsOf, vendorNames } from "./Vendor.ts"
import type { VendorWatch } from "./VendorWatch.ts"
import type { World } from "./World.ts"

interface Attempt {
  readonly name: string
  readonly customer: Customer
  readonly ask: Ask
  readonly replica: Replica
  /** Milliseconds of `World.now`. */
  readonly startedAt: number
  endedAt?: number
  /** Undefined while the client waits, and after it has hung up. */
  reply?: Reply
  requestId?: RequestId
  vendors?: VendorWatch
}

/**
 * How long after its start a request must be answered at the latest, in milliseconds: the deadline,
 * two seconds, and some time for the work itself.
 */
const lateMs = 2000 + 800

/** How long an idempotency key may be in use after the end of its request. */
const keyGraceMs = 4000

/** How much later than its purchase a figure may be saved in the cache. */
const saveMs = 200

export class Witness {
  readonly attempts: Array<Attempt> = []
  private readonly byAsk = new Map<Ask, Attempt>()
  private readonly byRequest = new Map<string, Attempt>()
  /** The operator's grants, keyed by their notes, which are unique. */
  private readonly grants = new Map<string, { readonly customer: Customer; isDone: boolean }>()
  private readonly world: World
  private readonly faults: Faults
  private readonly problem: (text: string) => void

  constructor(world: World, faults: Faults, problem: (text: string) => void) {
    this.world = world
    this.faults = faults
    this.problem = problem
  }

  /** Records that a client sends a request. */
  begins(name: string, customer: Customer, ask: Ask, replica: Replica): Attempt {
    const attempt: Attempt = { name, customer, ask, replica, startedAt: this.world.now }
    this.attempts.push(attempt)
    this.byAsk.set(ask, attempt)
    return attempt
  }

  /** Records that the request has reached a process and got an id. */
  hasId(ask: Ask, requestId: RequestId, vendors: VendorWatch): void {
    const attempt = this.byAsk.get(ask)
    if (attempt === undefined) return
    attempt.requestId = requestId
    attempt.vendors = vendors
    this.byRequest.set(requestId, attempt)
    this.world.note(attempt.replica.name, `gets ${attempt.name} as ${requestId}`)
  }

  /** Records the client's reply, or that the client hangs up. */
  ends(attempt: Attempt, reply: Reply | undefined): void {
    attempt.endedAt = this.world.now
    if (reply !== undefined) attempt.reply = reply
    this.world.note("clients", `${attempt.name} ${shown(reply)}`)
    this.world.count("requests")
    if (reply === undefined || reply === "closed") return
    this.world.count(`answer ${reply.status}${reply.isReplay ? ", replayed" : ""}`)
    this.judge(attempt, reply)
  }

  /**
   * Records that the operator grants credits. Call the returned function once the grant is
   * acknowledged.
   */
  beginsGrant(customer: Customer, note: string): () => void {
    const grant = { customer, isDone: false }
    this.grants.set(note, grant)
    return () => {
      grant.isDone = true
    }
  }

  /** The requests that nobody has answered although their clients wait. */
  get unanswered(): ReadonlyArray<Attempt> {
    return this.attempts.filter(({ endedAt }) => endedAt === undefined)
  }

  /** Compares the charges of a customer with the answers that the clients got. */
  audit(customer: Customer, entries: ReadonlyArray<StatementEntry>): void {
    const charges = entries.filter(({ kind }) => kind === "charge")
    const charged = new Map<string, number>()
    const chargedKeys = new Set<string>()
    for (const { amount, requestId } of charges) {
      const attempt = this.byRequest.get(requestId ?? "")
      if (attempt === undefined || attempt.customer !== customer) {
        this.problem(`${customer.name} is charged for the unknown request ${requestId}`)
        continue
      }
      const { ask, name, reply } = attempt
      if (charged.has(name)) this.problem(`${name} is charged twice`)
      charged.set(name, amount)
      const key = ask.idempotencyKey
      if (key !== undefined) {
        if (chargedKeys.has(key)) this.problem(`the key ${key} is charged twice, last for ${name}`)
        chargedKeys.add(key)
      }
      if (!mayBeCharged(attempt)) this.problem(`${name} is charged, but ${shown(reply)}`)
      const isLost = creditsOf(reply) === undefined
      if (isLost) this.world.count("charges whose answer was lost")
      if (isLost && key !== undefined) this.isCollected(attempt, amount)
    }
    for (const attempt of this.attempts) {
      if (attempt.customer !== customer) continue
      const told = creditsOf(attempt.reply) ?? 0
      if (told > 0 && charged.get(attempt.name) !== told) {
        const found = charged.get(attempt.name) ?? 0
        this.problem(`${attempt.name} was told of ${told} credits, the statement has ${found}`)
      }
    }
    const sum = charges.reduce((sum, { amount }) => sum + amount, 0)
    const granted = entries.reduce(
      (sum, { amount, kind }) => sum + (kind === "grant" ? amount : 0),
      0,
    )
    if (sum > granted) this.problem(`${customer.name} spent ${sum} of ${granted} credits`)
    for (const [note, grant] of this.grants) {
      if (grant.customer !== customer) continue
      const found = entries.filter((entry) => entry.note === note).length
      if (found > 1) this.problem(`${note} is in the statement ${found} times`)
      if (found === 0 && grant.isDone) this.problem(`${note} was acknowledged, but is lost`)
    }
    this.auditBudget(customer, charges)
  }

  /** One answered request for each idempotency key that has an answer. */
  get answeredKeys(): ReadonlyArray<Attempt> {
    const isAnswered = ({ ask, reply }: Attempt) =>
      ask.idempotencyKey !== undefined && isAnswer(reply) && reply.status === 200
    const answered = this.attempts.filter(isAnswered)
    return [...new Map(answered.map((each) => [each.ask.idempotencyKey, each])).values()]
  }

  /**
   * Checks the budget on each day, but leaves out the last requests, for which the budget was
   * raised.
   */
  private auditBudget({ budget, name }: Customer, charges: ReadonlyArray<StatementEntry>) {
    const days = new Map<number, number>()
    for (const { amount, at, heldAt, requestId } of charges) {
      if (this.byRequest.get(requestId ?? "")?.name.startsWith("last") === true) continue
      const day = Budget.startOf("day", heldAt ?? at)
      days.set(day, (days.get(day) ?? 0) + amount)
    }
    if (budget === undefined) return
    if (days.size > 1) this.world.count("budgets that were used on two days")
    for (const [day, sum] of days) {
      if (sum > budget.perDay) {
        this.problem(`${name} spent ${sum} of ${budget.perDay} on ${new Date(day).toISOString()}`)
      }
    }
  }

  /**
   * Checks that a repeat of the key got the answer to a charged request, for the same credits. A
   * client whose repeat overtook the request and got 402 does not repeat it again.
   */
  private isCollected(attempt: Attempt, amount: number) {
    const { name } = attempt
    const replies = this.sameKey(attempt).flatMap(({ reply }) => (isAnswer(reply) ? reply : []))
    if (replies.some(({ status }) => status === 402)) return
    const isSame = (reply: Answer) => reply.isReplay && read(reply).quota.creditsUsed === amount
    if (replies.some(isSame)) this.world.count("charges collected by their key")
    else this.problem(`${name} is charged, but no repeat of its key got its answer`)
  }

  private judge(attempt: Attempt, answer: Answer) {
    const { faults, world } = this
    const { name, startedAt } = attempt
    const complain = (what: string) => this.problem(`${name} ${shown(answer)}: ${what}`)
    const isTroubled = faults.troubleAt >= startedAt - 1000
    const tookMs = world.now - startedAt
    if (tookMs > timeoutMs + lateMs && faults.stalledAt < startedAt - 1000) {
      complain(`it took ${tookMs} ms`)
    }
    switch (answer.status) {
      case 200:
        return this.judgeReport(attempt, answer, complain)
      case 402:
        return this.judgeShortage(attempt, answer, complain)
      case 409:
        if (!this.mayBeInUse(attempt)) complain("no request with this key is in progress")
        return
      case 422:
        if (!this.sameKey(attempt).some(({ ask }) => `${ask.urls}` !== `${attempt.ask.urls}`)) {
          complain("the key was used for no other URLs")
        }
        return
      case 500:
      case 503: {
        const isRefused = answer.status === 500 && faults.refused.has(attempt.requestId ?? "")
        if (!isTroubled && !isRefused) complain("nothing was wrong with the store or the process")
        return
      }
      default:
        complain("this answer is wrong")
    }
  }

  private judgeShortage(attempt: Attempt, answer: Answer, complain: (what: string) => void) {
    const { budget, granted } = attempt.customer
    if (!answer.body.includes("the budget of its key")) {
      if (granted > 10_000) complain("the account has plenty of credits")
      return
    }
    this.world.count("refusals because of a budget")
    // The most that the key's requests can have used so far, as if all of them fell on one day.
    const most = this.attempts
      .filter(({ customer }) => customer === attempt.customer)
      .reduce((sum, { ask }) => sum + highestPrice(ask), 0)
    if (budget === undefined || most <= budget.perDay) complain("the budget has room")
  }

  private judgeReport(attempt: Attempt, answer: Answer, complain: (what: string) => void) {
    const { ask, requestId = "", startedAt, vendors } = attempt
    const { faults, world } = this
    const { data, quota } = read(answer)
    const echoed = [...data.successUrls, ...data.failedUrls].map(({ url }) => url)
    if (`${echoed.toSorted()}` !== `${ask.urls.toSorted()}`) complain("it has other URLs")
    if (quota.creditsUsed !== price * data.successUrls.length) complain("the price is wrong")
    for (const { provenance, url, ...metrics } of data.successUrls) {
      const at = boughtAt(world, Either.getOrThrow(Target.parse(url)), metrics)
      if ((provenance !== undefined) !== (ask.provenance === true)) {
        complain(`${url} has the wrong provenance`)
      }
      if (provenance?.source === "stale") world.count("stale figures")
      if (at === undefined) complain(`${url} has the figures of another page`)
      else if (!answer.isReplay && faults.stalledAt < at - periodMs) {
        const ageMs = startedAt - at
        if (ageMs > this.mostAgeMs(ask, provenance) + saveMs)
          complain(`${url} has ${provenance?.source ?? ""} figures that are ${ageMs} ms old`)
      }
    }
    for (const { reason, url } of data.failedUrls) {
      const target = Either.getOrUndefined(Target.parse(url))
      if ((reason === "INVALID_URL") !== (target === undefined) || reason === "SERVER_ERROR") {
        complain(`${url} failed with ${reason}`)
      }
      if (target === undefined || answer.isReplay) continue
      if (vendors?.mayFail(requestId, target.page, vendorNames.length, startedAt) !== true) {
        complain(`${url} failed with ${reason}, though not every provider failed for it`)
      }
    }
    const former = this.sameKey(attempt).find(
      ({ reply }) => isAnswer(reply) && reply.status === 200 && reply.body !== answer.body,
    )
    if (former !== undefined) complain(`${former.name} got another answer with the same key`)
    if (answer.isReplay && this.sameKey(attempt).length === 0)
      complain("there is nothing to replay")
  }

  /**
   * Returns the greatest allowed age of the figures in an answer. Only an answer with sources tells
   * which figures are stale.
   */
  private mostAgeMs({ maxAgeMs = Number.POSITIVE_INFINITY }: Ask, provenance?: Provenance) {
    const { minAgeMs, staleIfErrorMs, ttlMs } = settingsOf(this.world)
    const mayBeStale = provenance === undefined || provenance.source === "stale"
    return mayBeStale && staleIfErrorMs > 0
      ? ttlMs + staleIfErrorMs
      : Math.min(ttlMs, Math.max(minAgeMs, maxAgeMs))
  }

  /** The other requests with the same idempotency key. */
  private sameKey(attempt: Attempt): ReadonlyArray<Attempt> {
    const { ask, customer } = attempt
    return ask.idempotencyKey === undefined
      ? []
      : this.attempts.filter(
          (other) =>
            other !== attempt &&
            other.customer === customer &&
            other.ask.idempotencyKey === ask.idempotencyKey,
        )
  }

  private mayBeInUse(attempt: Attempt): boolean {
    const { faults, world } = this
    // The key of a request whose process was killed is in use until its lease ends.
    if (world.now <= faults.troubleAt + leaseMs + faults.lateLeaseMs + keyGraceMs) return true
    return this.sameKey(attempt).some(({ endedAt, reply, startedAt }) => {
      // A request whose client has hung up continues until its deadline.
      const own = reply === undefined ? startedAt + timeoutMs : 0
      const end = Math.max(own, endedAt ?? Number.POSITIVE_INFINITY)
      return !isRefused(reply) && end + keyGraceMs >= attempt.startedAt
    })
  }
}

const decode = Schema.decodeUnknownSync(Schema.parseJson(BatchResponse))

const reports = new WeakMap<Answer, typeof BatchResponse.Type>()

/** Decodes the report in an answer, only once for each answer. */
const read = (answer: Answer) => {
  const report = reports.get(answer) ?? decode(answer.body)
  reports.set(answer, report)
  return report
}

/** The most that a request can cost, which is what it holds. */
const highestPrice = ({ urls }: Ask) =>
  price * urls.filter((url) => Either.isRight(Target.parse(url))).length

const isAnswer = (reply: Reply | undefined): reply is Answer =>
  reply !== undefined && reply !== "closed"

/** Returns true if a request was refused because of its key, so that it has not taken the key. */
const isRefused = (reply: Reply | undefined): boolean =>
  isAnswer(reply) && (reply.status === 409 || reply.status === 422)

/**
 * Returns the credits that a first answer says were charged; undefined if there was no such answer.
 */
const creditsOf = (reply: Reply | undefined): number | undefined =>
  isAnswer(reply) && reply.status === 200 && !reply.isReplay
    ? read(reply).quota.creditsUsed
    : undefined

/** Returns true unless the client's reply shows that nothing was charged. */
const mayBeCharged = ({ reply, requestId }: Attempt): boolean =>
  !isAnswer(reply) ||
  (reply.status === 200 && !reply.isReplay) ||
  (requestId !== undefined && reply.body.includes(undecidedChargeMessage(requestId))) ||
  reply.body.includes(JSON.stringify(undecidedMessage).slice(1, -1))

const shown = (reply: Reply | undefined): string => {
  if (reply === undefined) return "hangs up"
  if (reply === "closed") return "loses its connection"
  const replayed = reply.isReplay ? " (replayed)" : ""
  const message = reply.status === 200 ? "" : ` ${reply.body}`
  return `gets ${reply.status}${replayed}${message}`
}
