/** A database file with accounts and API keys. Each world gets a copy of the file. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { type AccountId, AccountName, Accounts } from "../../src/accounts/Account.ts"
import type { ApiKeyId } from "../../src/accounts/ApiKey.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as SqlAccounts from "../../src/accounts/SqlAccounts.ts"
import * as SqlApiKeys from "../../src/accounts/SqlApiKeys.ts"
import * as SqlCreditLedger from "../../src/ledger/SqlCreditLedger.ts"
import * as Store from "./FaultyStore.ts"
import { startsAt } from "./World.ts"

export interface Customer {
  readonly name: string
  readonly id: AccountId
  readonly apiKey: string
  readonly granted: number
  /**
   * The customer's key, and the most that it may spend in a day. Absent if the customer has no
   * budget.
   */
  readonly budget?: { readonly key: ApiKeyId; readonly perDay: number }
}

export interface Template {
  readonly customers: NonEmptyReadonlyArray<Customer>
  /** Makes a copy of the file and returns its path. */
  readonly copy: () => string
  /** Removes a copy. */
  readonly remove: (file: string) => void
  /** Removes all copies and the file itself. */
  readonly close: () => void
}

const customer = (name: string, granted: number, perDay?: number) =>
  Effect.gen(function* () {
    const { id } = yield* (yield* Accounts).create(AccountName.make(name))
    const budget =
      perDay === undefined ? undefined : { credits: Credits.make(perDay), period: "day" as const }
    const { key, record } = yield* (yield* ApiKeys).issue({ account: id, budget })
    yield* (yield* CreditLedger).grant(id, Credits.make(granted), null)
    const apiKey = Redacted.value(key)
    const made: Customer = { name, id, apiKey, granted }
    return perDay === undefined ? made : { ...made, budget: { key: record.id, perDay } }
  })

/**
 * One customer never runs out of credits. The other two may, and the key of the last one has a
 * budget.
 */
const customers = Effect.all([
  customer("rich", 1_000_000),
  customer("poor", 16),
  customer("thrifty", 60),
  customer("bounded", 1_000_000, 12),
])

/**
 * The file is a day older than the worlds, whatever the real date is, because budgets count from
 * its time on.
 */
const madeAt = startsAt - 86_400_000
const beforeTheWorld = Object.assign(Clock.make(), {
  currentTimeMillis: Effect.succeed(madeAt),
  unsafeCurrentTimeMillis: () => madeAt,
})

/** Makes the file, in memory if the machine has a file system for that. */
export const make = async (): Promise<Template> => {
  const memory = "/dev/shm"
  const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), "authority-simulation-"))
  const file = join(folder, "template.db")
  const stores = Layer.mergeAll(
    SqlAccounts.layer,
    SqlApiKeys.layer,
    SqlCreditLedger.layer({ lease: "1 minute" }),
  ).pipe(Layer.provide(Store.layer(file)))
  const made = await Effect.runPromise(
    Effect.provide(customers, stores).pipe(Effect.withClock(beforeTheWorld)),
  )
  let copies = 0
  return {
    customers: made,
    copy: () => {
      const copy = join(folder, `${copies++}.db`)
      copyFileSync(file, copy)
      return copy
    },
    remove: (copy) => ["", "-wal", "-shm"].forEach((end) => rmSync(copy + end, { force: true })),
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
