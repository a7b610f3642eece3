/**
 * What operators do with accounts and their credits. Each act returns the document that both the
 * command line and the HTTP administration show.
 */
import * as Effect from "effect/Effect"
import { type Account, type AccountName, Accounts, type Search } from "./Account.ts"
import { once, type Page, refused } from "./AuditLog.ts"
import * as Balance from "../ledger/Balance.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { type Credits, creditsOf } from "../ledger/Credits.ts"
import type { StatementEntry } from "../ledger/LedgerEntry.ts"
import { inTime } from "../ledger/StoreTimeout.ts"
import type * as Usage from "../ledger/usage/Usage.ts"
import { isoTime } from "./TimeSpan.ts"
import { letOthersRun } from "../ledger/letOthersRun.ts"
import { UsageReport } from "../ledger/usage/UsageReport.ts"

/** Finds an account by its name or id. If there is none, the audit log gets a line for `act`. */
export const find = (nameOrId: string, act?: string) =>
  Effect.flatMap(Accounts, (accounts) => {
    const found = accounts.find(nameOrId)
    return inTime(act === undefined ? found : refused(act, nameOrId)(found))
  })

const fundsOf = ({ charged, granted, held }: Balance.Funds) => ({
  available: creditsOf(Balance.available({ charged, granted, held })),
  held,
  granted,
  charged,
})

const documentOf = ({ id, name, suspendedAt }: Account) =>
  Effect.gen(function* () {
    const ledger = yield* CreditLedger
    const funds = fundsOf(yield* ledger.balance(id))
    return { id, name, suspended: suspendedAt !== null, ...funds }
  })

/** Lists the accounts that match the search; all accounts by name without a search. */
export const list = (search?: Search) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const found = yield* inTime(search === undefined ? accounts.list : accounts.search(search))
    // On SQLite, a thousand consecutive reads would block the process for a while.
    const rows = yield* Effect.forEach(found, (each) =>
      Effect.zipRight(letOthersRun, documentOf(each)),
    )
    return { accounts: rows }
  })

export const show = (nameOrId: string) =>
  Effect.map(Effect.flatMap(find(nameOrId), documentOf), (account) => ({ account }))

interface NewAccount {
  readonly name: AccountName
  readonly credits?: Credits
}

export const create = ({ credits = creditsOf(0), name }: NewAccount) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ledger = yield* CreditLedger
    const action = "account.create"
    const created = accounts.create(name).pipe(refused(action, name))
    const { id } = yield* once(action, created, accounts.find)
    if (credits > 0) {
      const granted = ledger.grant(id, credits, "opening grant")
      yield* once("credits.grant", granted, () => ledger.balance(id))
    }
    return { account: { id, name }, credits }
  })

export const suspend = (nameOrId: string) => suspended(nameOrId, "suspend")
export const resume = (nameOrId: string) => suspended(nameOrId, "resume")

const suspended = (nameOrId: string, verb: "suspend" | "resume") =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const action = `account.${verb}`
    const { id } = yield* find(nameOrId, action)
    const account = yield* accounts[verb](id).pipe(refused(action, nameOrId))
    return { account: yield* documentOf(account) }
  })

interface Change {
  readonly account: string
  readonly amount: number
  readonly note?: string | null | undefined
}

export const grant = ({ account, amount, note }: Change) =>
  changed("credits.grant", account, ({ grant }, { id }) =>
    grant(id, creditsOf(amount), note === "" || note === undefined ? null : note),
  )

/** Takes back credits that were granted by mistake. The note must not be empty. */
export const correct = ({ account, amount, note }: Change) =>
  changed("credits.correct", account, ({ correct }, { id }) =>
    correct(id, creditsOf(amount), note ?? ""),
  )

const changed = <E extends { readonly message: string }>(
  action: string,
  nameOrId: string,
  change: (ledger: CreditLedger["Type"], account: Account) => Effect.Effect<Balance.Funds, E>,
) =>
  Effect.gen(function* () {
    const ledger = yield* CreditLedger
    const account = yield* find(nameOrId, action)
    const made = change(ledger, account).pipe(refused(action, account.name))
    const balance = yield* once(action, made, () => ledger.balance(account.id))
    return { account: account.name, ...fundsOf(balance) }
  })

export const balance = (nameOrId: string) =>
  Effect.gen(function* () {
    const ledger = yield* CreditLedger
    const { id, name } = yield* find(nameOrId)
    return { account: name, ...fundsOf(yield* ledger.balance(id)) }
  })

/** An entry as its account sees it: without the operator's note. */
export const entryOf = ({ amount, apiKeyId, at, kind, ...entry }: StatementEntry) => ({
  sequence: entry.sequence,
  at: isoTime(at),
  kind,
  amount: kind === "grant" ? amount : -amount,
  balanceAfter: entry.balanceAfter,
  urls: entry.urls,
  requestId: entry.requestId,
  key: apiKeyId ?? null,
})

export const statement = (nameOrId: string, page: Pick<Page, "limit" | "before">) =>
  Effect.gen(function* () {
    const ledger = yield* CreditLedger
    const { id, name } = yield* find(nameOrId)
    const entries = yield* inTime(ledger.recent(id, page))
    return { account: name, entries: entries.map((one) => ({ ...entryOf(one), note: one.note })) }
  })

interface UsageQuestion extends Omit<Usage.Question, "account"> {
  /** The name or the id of an account; all accounts when absent. */
  readonly account?: string | undefined
}

export const usage = ({ account, ...question }: UsageQuestion) =>
  Effect.gen(function* () {
    const { rows } = yield* UsageReport
    const found = account === undefined ? undefined : yield* find(account)
    return {
      ...(found !== undefined && { account: found.name }),
      rows: yield* rows({ ...question, account: found?.id }),
    }
  })
