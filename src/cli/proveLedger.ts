/** Runs the ledger with two processes and with faults, and compares its books with the requests. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { v7 as uuid } from "uuid"
import { type AccountId, AccountName, Accounts } from "../Account.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { Credits } from "../ledger/Credits.ts"
import * as ConnectionFaults from "../prove/ConnectionFaults.ts"
import * as Contests from "../prove/Contests.ts"
import { fail, type Finding, needed, pass, Stopped, unknown } from "../prove/Finding.ts"
import { tally } from "../prove/Tally.ts"
import { type Outcome, problemOf } from "../prove/Traffic.ts"
import * as Ground from "../sql/ProvingGround.ts"
import { counted } from "../text/counted.ts"
import { type Job, quietLedgerOn, servingLedgerOn, traffic } from "./proveMember.ts"
import { runSecond } from "./proveSecond.ts"
import { verified } from "./verified.ts"

/** Needs the stores of the schema, whose connections no fault meets. */
export const proveLedger = Effect.fnUntraced(function* (
  url: string,
  job: Omit<Job, "accounts">,
  add: (finding: Finding) => void,
) {
  yield* contests(url, job.name, add).pipe(Effect.scoped)
  const accounts = yield* Effect.replicateEffect(newAccount(1e9), 4).pipe(needed("no lost charge"))
  yield* Ground.askForRestarts.pipe(needed("restart"))
  const faults = ConnectionFaults.make()
  // It stays until the end, because it returns the holds of failed requests.
  const first = yield* Layer.build(servingLedgerOn(url, job.name, faults)).pipe(
    needed("connection"),
  )
  const load = yield* loaded({ ...job, accounts }, faults).pipe(
    Effect.provide(first),
    needed("no lost charge"),
  )
  add(restart(yield* needed("restart")(Ground.restarts), load.outcomes))
  yield* allReturned.pipe(needed("books"))
  ;(yield* charges(accounts, load).pipe(needed("no lost charge"))).forEach(add)
  add(yield* books.pipe(needed("books")))
})

/** Lets transactions of two ledgers meet. */
const contests = Effect.fnUntraced(function* (
  url: string,
  name: string,
  add: (finding: Finding) => void,
) {
  const faults = ConnectionFaults.make()
  const [first, second] = yield* Effect.all([
    Layer.build(quietLedgerOn(url, name, faults)),
    Layer.build(quietLedgerOn(url, name, ConnectionFaults.make())),
  ]).pipe(needed("connection"))
  const ledgers = [Context.get(first, CreditLedger), Context.get(second, CreditLedger)] as const
  const before = performance.now()
  yield* needed("connection")(Ground.currentSchema)
  // The server ends a transaction that is idle for 5 seconds.
  const patienceMs = Math.min(3000, 250 + 10 * (performance.now() - before))
  const contestants = { faults, ledgers, patienceMs }
  add(yield* isolation(contestants).pipe(needed("isolation")))
  add(yield* deadlock(contestants).pipe(needed("deadlock")))
})

const newAccount = (credits: number) =>
  Effect.gen(function* () {
    const { id } = yield* (yield* Accounts).create(AccountName.make(`proof-${uuid()}`))
    yield* (yield* CreditLedger).grant(id, Credits.make(credits), null)
    return id
  })

const doNotUse = "do not run the service on this database, and report this output"

/** Two holds of which one fits, and two holds that both fit, each of them twice. */
const isolation = Effect.fnUntraced(function* (contestants: Contests.Contestants) {
  for (const credits of [10, 20, 10, 20]) {
    const problem = yield* Contests.holdTwice(yield* newAccount(credits), contestants)
    if (problem === undefined) continue
    return yield* new Stopped({ finding: fail("isolation", `${problem}; ${doNotUse}`) })
  }
  return pass("isolation", "two holds at the same time neither overdraw nor get lost")
})

const deadlock = Effect.fnUntraced(function* (contestants: Contests.Contestants) {
  const [one, two] = yield* Effect.all([newAccount(10), newAccount(10)])
  const pair = one < two ? ([one, two] as const) : ([two, one] as const)
  const exit = yield* Contests.chargeInDeadlock(pair, Ground.lockInTurn, contestants)
  if (Exit.isFailure(exit)) {
    return fail("deadlock", `the ledger's charges failed (${problemOf(exit.cause)}); ${doNotUse}`)
  }
  const balances = yield* Effect.forEach(pair, contestants.ledgers[1].balance)
  return balances.every(({ charged }) => charged === 1)
    ? pass("deadlock", "one transaction was asked to start again (40P01), and no charge got lost")
    : fail("deadlock", `the ledger's charges were not made once; ${doNotUse}`)
})

interface Load {
  readonly outcomes: ReadonlyArray<Outcome>
  /** Says which faults were made. */
  readonly faults: string
}

/** Lets both processes send requests, while their connections are ended. */
const loaded = (job: Job, faults: ConnectionFaults.ConnectionFaults) =>
  Effect.gen(function* () {
    const outcomes: Array<Outcome> = []
    const secondIsBusy = yield* Effect.makeLatch()
    const report = (outcome: Outcome) => {
      outcomes.push(outcome)
      secondIsBusy.unsafeOpen()
    }
    let [ended, problem] = [0, ""]
    const ending = yield* Ground.endConnection(job.name).pipe(
      Effect.map((count) => void (ended += count)),
      Effect.repeat(Schedule.spaced("500 millis")),
      Effect.catchAll(({ message }) => Effect.sync(() => void (problem = ` (${message})`))),
      Effect.fork,
    )
    const [lost, alsoLost] = yield* Effect.all(
      [secondIsBusy.whenOpen(traffic(faults, job, report)), runSecond(job, report)],
      { concurrency: 2 },
    )
    yield* Fiber.interrupt(ending)
    const made = `${counted(ended, "connection")} ended${problem} and ${counted(lost + alsoLost, "answer")} to COMMIT lost`
    return { outcomes, faults: made } satisfies Load
  })

const restart = (restarts: number, outcomes: ReadonlyArray<Outcome>) => {
  const failed = outcomes.filter(({ problem }) => problem?.includes(Ground.restartMessage)).length
  if (failed > 0) return fail("restart", `${counted(failed, "request")} failed; ${doNotUse}`)
  const asked = `${counted(restarts, "transaction")} asked to start again (40001)`
  return restarts > 0
    ? pass("restart", `${asked}, and repeated`)
    : unknown("restart", `${asked}; try more --seconds`)
}

/** Waits until the holds of failed requests are returned, at most until their lease is over. */
const allReturned = Effect.flatMap(CreditLedger, ({ totals }) =>
  Effect.repeat(totals([]), {
    until: ({ held }) => held === 0,
    schedule: Schedule.upTo(Schedule.spaced("250 millis"), "30 seconds"),
  }),
)

const charges = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<AccountId>,
  { faults, outcomes }: Load,
) {
  const { statement } = yield* CreditLedger
  const entries = yield* Effect.forEach(accounts, (one) => Stream.runCollect(statement(one, {})))
  const sum = tally(
    outcomes,
    entries.flatMap((some) => [...some]),
  )
  if (sum.acknowledged === 0) {
    const [first = "none was made"] = outcomes.flatMap(({ problem }) => problem ?? [])
    return [fail("no lost charge", `no request succeeded (${first})`)]
  }
  const under = `${counted(sum.requests, "request")}, ${faults}`
  return [
    sum.doubled + sum.strange === 0
      ? pass("no double charge", `each charge belongs to one request (${under})`)
      : fail(
          "no double charge",
          `${sum.doubled} charged twice or too much, and ${sum.strange} charges of no request (${under}); ${doNotUse}`,
        ),
    sum.lost === 0
      ? pass(
          "no lost charge",
          `${sum.acknowledged} acknowledged and charged, ${sum.unacknowledged} charged without an answer (${under})`,
        )
      : fail("no lost charge", `${sum.lost} acknowledged, but not charged (${under}); ${doNotUse}`),
  ]
})

const books = Effect.gen(function* () {
  const { entries, problems } = yield* verified
  const { held } = yield* (yield* CreditLedger).totals([])
  const stuck = held > 0 ? [`${counted(held, "credit")} stayed held`] : []
  const [first, ...more] = [...problems, ...stuck]
  return first === undefined
    ? pass("books", `${counted(entries, "entry", "entries")} verified`)
    : fail("books", `${first}, and ${counted(more.length, "other problem")}; ${doNotUse}`)
})
