/**
 * Compares the counts of all replicas with the bills that the vendors keep. A count may be missing
 * only if its process died, and may be added twice only if the store was in trouble. No process
 * buys more rows in a month than the ceiling.
 */
import Database from "better-sqlite3"
import * as Schema from "effect/Schema"
import { startOf } from "../../src/ledger/budgets/Budget.ts"
import type { Call } from "./Call.ts"
import type { Faults } from "./Faults.ts"
import type { Process, World } from "./World.ts"

interface Options {
  readonly world: World
  readonly faults: Faults
  readonly file: string
  /** Returns the most rows that may be bought from a provider in a month. */
  readonly ceilingOf: (provider: string) => number | undefined
}

/** For how many milliseconds after trouble of the store the sums may be unreadable. */
const troubleMs = 8000

export class Bills {
  private readonly options: Options
  private readonly calls: Array<{ readonly call: Call; readonly month: number }> = []
  /** The names of the processes whose clock has jumped: nobody can tell in which month they are. */
  private readonly jumped = new Set<string>()
  private readonly database: Database.Database

  constructor(options: Options) {
    this.options = options
    this.database = new Database(options.file, { readonly: true })
  }

  close(): void {
    this.database.close()
  }

  /** Records that a process sends a call to a vendor. */
  begins(call: Call, { clockAheadMs, name }: Process): void {
    if (clockAheadMs !== 0) this.jumped.add(name)
    const month = startOf("month", this.options.world.now + clockAheadMs)
    this.calls.push({ call, month })
  }

  /**
   * Returns true if `more` rows may exceed the ceiling. In trouble, the counts may have been added
   * twice. A call counts in the month in which it ends, so the months are not told apart here.
   */
  isAtCeiling(provider: string, more: number): boolean {
    const ceiling = this.options.ceilingOf(provider) ?? Number.POSITIVE_INFINITY
    const times = this.isTroubled ? 2 : 1
    const own = this.calls.filter(({ call }) => call.provider === provider)
    return times * own.reduce((sum, { call }) => sum + call.pages.size, 0) + more > ceiling
  }

  /**
   * Returns true if the store may have been unreadable since that time, so that no ceiling could be
   * checked.
   */
  mayNotRead(provider: string, since: number): boolean {
    const { ceilingOf, faults } = this.options
    return ceilingOf(provider) !== undefined && faults.troubleAt >= since - troubleMs
  }

  /** Returns what is wrong with the counts once all calls have ended. */
  audit(): ReadonlyArray<string> {
    const stored = decodeSums(
      this.database
        .prepare(
          "SELECT provider, SUM(calls) AS calls, SUM(rows_bought) AS rows FROM costs GROUP BY provider",
        )
        .all(),
    )
    const providers = new Set(this.calls.map(({ call }) => call.provider))
    return [...providers]
      .flatMap((provider) => {
        const { calls, rows } = stored.find((sum) => sum.provider === provider) ?? nothing
        const all = this.calls.map(({ call }) => call).filter((each) => each.provider === provider)
        const lasting = all.filter(({ process }) => process.isRunning)
        const answered = lasting.filter(({ isAnswerLost }) => !isAnswerLost)
        return [
          ...(calls < lasting.length ? [`${calls} calls to ${provider} are counted, too few`] : []),
          ...(rows < rowsOf(answered) ? [`${rows} rows of ${provider} are counted, too few`] : []),
          ...(calls > all.length && !this.isTroubled
            ? [`calls to ${provider} are counted twice`]
            : []),
          ...(rows > rowsOf(all) && !this.isTroubled
            ? [`rows of ${provider} are counted twice`]
            : []),
        ]
      })
      .concat(this.wrongWithMonths())
  }

  private get isTroubled(): boolean {
    return this.options.faults.troubleAt !== Number.NEGATIVE_INFINITY
  }

  private wrongWithMonths(): ReadonlyArray<string> {
    const months = sumsBy(
      this.calls.filter(({ call }) => !this.jumped.has(call.process.name)),
      ({ call, month }) => `${call.provider} ${call.process.name} ${month}`,
      ({ call }) => call.billedRows,
    )
    return [...months].flatMap(([key, sum]) => {
      const [provider = "", process] = key.split(" ")
      const ceiling = this.options.ceilingOf(provider) ?? Number.POSITIVE_INFINITY
      return sum > ceiling ? [`${process} bought ${sum} rows of ${provider} above ${ceiling}`] : []
    })
  }
}

const nothing = { calls: 0, rows: 0 }

const rowsOf = (calls: ReadonlyArray<Call>) => calls.reduce((all, call) => all + call.billedRows, 0)

const sumsBy = <A>(items: ReadonlyArray<A>, key: (item: A) => unknown, of: (item: A) => number) => {
  const sums = new Map<string, number>()
  for (const item of items) {
    const name = String(key(item))
    sums.set(name, (sums.get(name) ?? 0) + of(item))
  }
  return sums
}

const decodeSums = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ provider: Schema.String, calls: Schema.Int, rows: Schema.Int })),
)
