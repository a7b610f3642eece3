/**
 * Compares the purchases of all replicas with the bills that the vendors keep. Each call needs a row
 * that was committed before it. A closed row has what the vendor billed. A row may stay unknown only
 * when the answer to its call was lost, or when its process died. A month never costs more rows than
 * its ceiling.
 */
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { startOf } from "../../src/ledger/Budget.ts"
import { dayOf } from "../../src/ledger/Usage.ts"
import { Purchases } from "../../src/Purchases.ts"
import * as SqlPurchases from "../../src/sql/Purchases.ts"
import type { Faults } from "./Faults.ts"
import type { Call, Caller } from "./Call.ts"
import type { World } from "./World.ts"

interface Options {
  readonly world: World
  readonly faults: Faults
  readonly file: string
  /** The most rows of a month at a vendor. */
  readonly ceilingOf: (provider: string) => number | undefined
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

/** A call of `Purchases.open`. */
interface Opening {
  readonly process: Caller
  readonly provider: string
  readonly startedAt: number
  end: "nothing yet" | "an id" | "a refusal" | "a failure of the store"
  endedAt: number
  /** Undefined when the caller has not learned the id. */
  id?: string
}

/** The purchase that a fiber has opened last. */
const lastPurchase = FiberRef.unsafeMake("")

/** How long after trouble a call may not be recorded: the store retries, and `open` waits. */
const troubleMs = 8000

export class Bills {
  private readonly options: Options
  private readonly openings: Array<Opening> = []
  private readonly calls = new Map<string, Call>()
  private readonly database: Database.Database

  constructor(options: Options) {
    this.options = options
    this.database = new Database(options.file, { readonly: true })
  }

  close(): void {
    this.database.close()
  }

  /** The purchases of a process, in SQL. */
  layer(process: Caller) {
    return Layer.effect(
      Purchases,
      Effect.map(Purchases, (purchases) =>
        Purchases.of({
          ...purchases,
          open: (request) => this.opens(process, request.provider, purchases.open(request)),
        }),
      ),
    ).pipe(Layer.provide(SqlPurchases.layer))
  }

  /** The purchase that this fiber has opened, for its call. */
  readonly purchaseOfCall = FiberRef.get(lastPurchase)

  /** A call is sent to a vendor. */
  begins(call: Call, id: string): void {
    const complain = (what: string) =>
      this.options.problem(`${call.process.name} asks ${call.provider}, ${what}`)
    if (this.calls.has(id)) complain("but the purchase is that of another call")
    this.calls.set(id, call)
    const row = this.rows("WHERE id = ?", id).at(0)
    if (row === undefined) complain("but no purchase is recorded")
    else if (row.state !== "unknown") complain(`but the purchase is ${row.state}`)
    else if (row.targets !== call.pages.size) complain(`but the purchase is for ${row.targets}`)
  }

  /** True when all the rows that the calls of some month may cost reach the ceiling. */
  isAtCeiling(provider: string): boolean {
    const ceiling = this.options.ceilingOf(provider) ?? Number.POSITIVE_INFINITY
    const months = sumsBy(
      this.rows("WHERE provider = ?", provider),
      ({ at }) => startOf("month", at),
      ({ targets }) => targets,
    )
    return [...months.values()].some((targets) => targets >= ceiling)
  }

  /** True when the store kept the process from recording a call since the time. */
  hasFailedToRecord(process: Caller, provider: string, since: number): boolean {
    return this.openings.some(
      (opening) =>
        opening.process === process &&
        opening.provider === provider &&
        opening.end === "a failure of the store" &&
        opening.endedAt >= since,
    )
  }

  /** The end of the last pause of a vendor, in epoch milliseconds. */
  get pausedUntil(): number {
    const pauses = decodePauses(this.database.prepare("SELECT paused_until FROM vendors").all())
    return Math.max(0, ...pauses.map(({ paused_until }) => paused_until))
  }

  /** Returns what is wrong with the purchases when all calls have ended. */
  audit(): ReadonlyArray<string> {
    const rows = this.rows("")
    return [
      ...rows.flatMap((row) => {
        const call = this.calls.get(row.id)
        return call === undefined ? [] : wrongWith(row, call)
      }),
      ...this.wrongWithUnsent(rows.filter(({ id }) => !this.calls.has(id))),
      ...this.wrongWithDays(rows),
      ...this.wrongWithMonths(rows),
    ]
  }

  private opens<A extends { readonly id: string }, E extends { readonly _tag: string }>(
    process: Caller,
    provider: string,
    open: Effect.Effect<A, E>,
  ): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const { faults, problem, world } = this.options
      const opening: Opening = {
        process,
        provider,
        startedAt: world.now,
        end: "nothing yet",
        endedAt: Number.POSITIVE_INFINITY,
      }
      this.openings.push(opening)
      const ended = (end: Opening["end"]) => {
        opening.end = end
        opening.endedAt = world.now
        world.count(`purchases: open returns ${end}`)
      }
      return open.pipe(
        Effect.tap(({ id }) => {
          ended("an id")
          opening.id = id
          return FiberRef.set(lastPurchase, id)
        }),
        Effect.tapError(({ _tag }) =>
          Effect.sync(() => {
            ended("a refusal")
            world.count(_tag)
            if (_tag === "CeilingReached" && !this.isAtCeiling(provider)) {
              problem(`${process.name} may not ask ${provider}, though its ceiling has room`)
            }
          }),
        ),
        Effect.tapDefect(() =>
          Effect.sync(() => {
            ended("a failure of the store")
            if (faults.troubleAt < opening.startedAt - troubleMs) {
              problem(`${process.name} cannot record a call to ${provider}, though the store works`)
            }
          }),
        ),
      )
    })
  }

  /** Rows of calls that no vendor got: closed and free, unless their process died. */
  private wrongWithUnsent(rows: ReadonlyArray<Row>): ReadonlyArray<string> {
    const died = this.openings.filter(
      ({ end, id, process }) =>
        end !== "a refusal" && !process.isRunning && (id === undefined || !this.calls.has(id)),
    )
    const open = rows.filter(({ state }) => state === "unknown")
    return [
      ...rows.flatMap(({ id, rows, state }) =>
        state === "answered" || rows > 0 ? [`purchase ${id} of no call is ${state}`] : [],
      ),
      ...(open.length > died.length
        ? [`${open.length} calls that were not sent are unknown, but only ${died.length} may be`]
        : []),
    ]
  }

  private wrongWithDays(rows: ReadonlyArray<Row>): ReadonlyArray<string> {
    const key = ({ at, provider }: Row) => `${provider} on day ${dayOf(at)}`
    const days = decodeDays(this.database.prepare("SELECT * FROM purchase_days").all())
    const stored = new Map(days.map((day) => [`${day.provider} on day ${day.day}`, day]))
    const billed = sumsBy(rows, key, (row) => row.rows)
    const unknown = sumsBy(rows, key, ({ state, targets }) => (state === "unknown" ? targets : 0))
    return [...billed].flatMap(([day, sum]) => {
      const { rows_bought = -1, unknown_targets = -1 } = stored.get(day) ?? {}
      return rows_bought === sum && unknown_targets === unknown.get(day)
        ? []
        : [`${day}, the sums are ${rows_bought} rows and ${unknown_targets} unknown targets`]
    })
  }

  private wrongWithMonths(rows: ReadonlyArray<Row>): ReadonlyArray<string> {
    const billed = sumsBy(
      rows,
      ({ at, provider }) => `${provider} ${startOf("month", at)}`,
      ({ id }) => this.calls.get(id)?.billedRows ?? 0,
    )
    return [...billed].flatMap(([month, sum]) => {
      const [provider = ""] = month.split(" ")
      const ceiling = this.options.ceilingOf(provider) ?? Number.POSITIVE_INFINITY
      return sum > ceiling ? [`${provider} billed ${sum} rows above the ceiling ${ceiling}`] : []
    })
  }

  private rows(where: string, ...params: ReadonlyArray<string>): ReadonlyArray<Row> {
    const statement = this.database.prepare(
      `SELECT id, provider, at, targets, state, COALESCE(rows_bought, 0) AS rows FROM purchases ${where}`,
    )
    return decodeRows(statement.all(...params))
  }
}

const wrongWith = (row: Row, call: Call): ReadonlyArray<string> => {
  const complain = (what: string) => [
    `the call of ${call.process.name} to ${call.provider} at ${call.startedAt}: ${what}`,
  ]
  if (row.state === "unknown") {
    const mayBe = call.isAnswerLost || !call.process.isRunning
    return mayBe ? [] : complain("it is unknown, but its answer arrived")
  }
  return row.rows === call.billedRows
    ? []
    : complain(`its purchase is ${row.state} for ${row.rows}, the bill has ${call.billedRows}`)
}

const sumsBy = <A>(items: ReadonlyArray<A>, key: (item: A) => unknown, of: (item: A) => number) => {
  const sums = new Map<string, number>()
  for (const item of items) {
    const name = String(key(item))
    sums.set(name, (sums.get(name) ?? 0) + of(item))
  }
  return sums
}

const Row = Schema.Struct({
  id: Schema.String,
  provider: Schema.String,
  at: Schema.Int,
  targets: Schema.Int,
  state: Schema.Literal("unknown", "answered", "failed"),
  rows: Schema.Int,
})
type Row = typeof Row.Type

const decodeRows = Schema.decodeUnknownSync(Schema.Array(Row))

const decodePauses = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ paused_until: Schema.Int })),
)

const decodeDays = Schema.decodeUnknownSync(
  Schema.Array(
    Schema.Struct({
      provider: Schema.String,
      day: Schema.Int,
      rows_bought: Schema.Int,
      unknown_targets: Schema.Int,
    }),
  ),
)
