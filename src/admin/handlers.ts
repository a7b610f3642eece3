/** The handlers of the administration's endpoints. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { type Account, type AccountId, type AccountNotFound, Accounts } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeys, type KeySearch } from "../ApiKeys.ts"
import { AuditLog, refused } from "../AuditLog.ts"
import { AdminApi } from "../contract/AdminApi.ts"
import { Contradiction, NotFound } from "../contract/Envelope.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { FigureHistory } from "../providers/FigureHistory.ts"
import { reading, refuseUnavailable } from "../http/errorAnswer.ts"
import { answerHistory, entryDocument } from "../http/handlers.ts"
import * as OneByOne from "../http/OneByOne.ts"
import * as Balance from "../ledger/Balance.ts"
import { creditsOf } from "../ledger/Credits.ts"
import {
  type Circuit,
  MetricsProvider,
  type ProviderStatus,
  quotaDocumentOf,
  reasonOf,
  statusInTime,
} from "../providers/MetricsProvider.ts"
import * as ProviderReport from "../providers/ProviderReport.ts"
import { isoTime } from "../time/isoTime.ts"
import { letOthersRun } from "../time/letOthersRun.ts"
import { UsageReport } from "../UsageReport.ts"
import { type Asked, once } from "./acts.ts"

const answer = <A>(data: A) => ({ success: true as const, data })

/** Answers with long lists, which the schema's encoder would take long for. */
const answerJson = (data: object) => HttpServerResponse.unsafeJson(answer(data))

interface Messaged {
  readonly message: string
}
const notFound = ({ message }: Messaged) => new NotFound({ message })
const contradiction = ({ message }: Messaged) => new Contradiction({ message })

/** The change, whose refusal is a line of the audit log and an error of the contract. */
const recorded =
  <E2>(action: string, subject: string, toError: (error: Messaged) => E2) =>
  <A, E extends Messaged, R>(change: Effect.Effect<A, E, R>) =>
    Effect.mapError(refused(action, subject)(change), toError)

const fundsOf = ({ charged, granted, held }: Balance.Funds) => ({
  available: creditsOf(Balance.available({ charged, granted, held })),
  held,
  granted,
  charged,
})

/** With an `act`, the audit log gets a line when the account does not exist. */
const makeFind = (accounts: Accounts["Type"]) => (nameOrId: string, act?: string) => {
  const found = accounts.find(nameOrId)
  const noted: Effect.Effect<Account, AccountNotFound, AuditLog> =
    act === undefined ? found : refused(act, nameOrId)(found)
  return Effect.catchTag(reading(noted), "AccountNotFound", notFound)
}

const accounts = HttpApiBuilder.group(AdminApi, "accounts", (handlers) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ledger = yield* CreditLedger
    const find = makeFind(accounts)
    const balanceOf = (id: AccountId) => Effect.catchAll(ledger.balance(id), refuseUnavailable)

    const rowOf = ({ id, name, suspendedAt }: Account) =>
      Effect.map(balanceOf(id), (balance) => ({
        id,
        name,
        suspended: suspendedAt !== null,
        ...fundsOf(balance),
      }))

    const change = makeChange(ledger)

    return handlers
      .handleRaw("accounts", ({ urlParams: { search: text, ...page } }) =>
        Effect.gen(function* () {
          const found = yield* reading(accounts.search({ text, ...page }))
          // On SQLite, a thousand reads in a row stop the process for a while.
          const rows = yield* Effect.forEach(found, (each) =>
            Effect.zipRight(letOthersRun, rowOf(each)),
          )
          return answerJson({ accounts: rows })
        }),
      )
      .handle("createAccount", (asked) =>
        Effect.gen(function* () {
          const { credits = creditsOf(0), name } = asked.payload
          const action = "account.create"
          const created = accounts.create(name).pipe(recorded(action, name, contradiction))
          const { id } = yield* once(asked, action, created, (rowId) => find(rowId))
          if (credits > 0) {
            const granted = change(id, credits, "opening grant")
            yield* once(asked, "credits.grant", granted, () => balanceOf(id))
          }
          return answer({ account: { id, name }, credits })
        }),
      )
      .handle("account", ({ path }) =>
        Effect.map(Effect.flatMap(find(path.name), rowOf), (account) => answer({ account })),
      )
      .handle("updateAccount", ({ path, payload: { suspended } }) =>
        Effect.gen(function* () {
          const act = suspended ? "account.suspend" : "account.resume"
          const { id } = yield* find(path.name, act)
          const changed = suspended ? accounts.suspend(id) : accounts.resume(id)
          const account = yield* changed.pipe(recorded(act, path.name, notFound))
          return answer({ account: yield* rowOf(account) })
        }),
      )
      .handle("changeCredits", (asked) =>
        Effect.gen(function* () {
          const { amount, note } = asked.payload
          const action = amount > 0 ? "credits.grant" : "credits.correct"
          const { id, name } = yield* find(asked.path.name, action)
          const changed = change(id, amount, note).pipe(refused(action, name))
          const balance = yield* once(asked, action, changed, () => balanceOf(id))
          return answer({ account: name, ...fundsOf(balance) })
        }),
      )
      .handleRaw("statement", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const { id, name } = yield* find(path.name)
          const entries = yield* reading(ledger.recent(id, urlParams))
          const rows = entries.map((entry) => ({ ...entryDocument(entry), note: entry.note }))
          return answerJson({ account: name, entries: rows })
        }),
      )
  }),
)

/** Grants credits, or takes a wrong grant back when the amount is negative. */
const makeChange =
  ({ correct, grant }: CreditLedger["Type"]) =>
  (id: AccountId, amount: number, note = "") =>
    Effect.mapError(
      amount > 0
        ? grant(id, creditsOf(amount), note === "" ? null : note)
        : correct(id, creditsOf(-amount), note),
      contradiction,
    )

const keys = HttpApiBuilder.group(AdminApi, "keys", (handlers) =>
  Effect.gen(function* () {
    const find = makeFind(yield* Accounts)
    const keys = yield* ApiKeys
    const { budgets } = yield* CreditLedger

    /** Reads what the keys have spent, and returns a function that describes one of them. */
    const describing = (found: ReadonlyArray<ApiKey.ApiKey>) =>
      Effect.gen(function* () {
        const ids = found.map(({ id }) => id)
        const spent = yield* Effect.catchAll(budgets(ids), refuseUnavailable)
        const now = yield* Clock.currentTimeMillis
        return (key: ApiKey.ApiKey, account: string) => ({
          account,
          ...ApiKey.documentOf(key, spent.get(key.id), now),
        })
      })

    const rowsOf = (search: KeySearch) =>
      Effect.gen(function* () {
        const found = yield* reading(keys.search(search))
        const describe = yield* describing(found)
        return found.map((key) => describe(key, key.accountName))
      })

    const newKey = <E>(asked: Asked, made: Effect.Effect<ApiKey.IssuedKey, E, AuditLog>) =>
      Effect.gen(function* () {
        // The line of the new key names it; the line of a rotation names the old one.
        const { key, record } = yield* once(asked, "key.create", made, (id) =>
          keys.find(ApiKey.ApiKeyId.make(id)).pipe(
            // The secret is stored nowhere.
            Effect.map((record) => ({ key: null, record })),
            Effect.mapError(notFound),
          ),
        )
        const { budget = null, expiresAt, id, scopes } = record
        const { name: account } = yield* find(record.accountId)
        return answer({
          key: key && Redacted.value(key),
          id,
          account,
          expiresAt: isoTime(expiresAt),
          scopes,
          budget,
        })
      })

    return handlers
      .handle("keys", ({ urlParams: { search: text, ...page } }) =>
        Effect.map(rowsOf({ text, ...page }), (keys) => answer({ keys })),
      )
      .handle("accountKeys", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const { id, name } = yield* find(path.name)
          return answer({ account: name, keys: yield* rowsOf({ account: id, ...urlParams }) })
        }),
      )
      .handle("createKey", (asked) =>
        Effect.gen(function* () {
          const account = yield* find(asked.path.name, "key.create")
          return yield* newKey(asked, keys.issue({ account: account.id, ...asked.payload }))
        }),
      )
      .handle("updateKey", ({ path, payload }) =>
        Effect.gen(function* () {
          const updated = keys.update(path.id, payload)
          const key = yield* updated.pipe(recorded("key.update", path.id, notFound))
          const { name } = yield* find(key.accountId)
          return answer({ key: (yield* describing([key]))(key, name) })
        }),
      )
      .handle("rotateKey", (asked) => {
        const { id } = asked.path
        const { grace = Duration.zero } = asked.payload
        return newKey(asked, keys.rotate(id, grace).pipe(recorded("key.rotate", id, notFound)))
      })
      .handle("revokeKey", ({ path }) =>
        keys.revoke(path.id).pipe(
          recorded("key.revoke", path.id, notFound),
          Effect.map(({ id, revokedAt }) => answer({ id, revokedAt: isoTime(revokedAt) })),
        ),
      )
  }),
)

const figures = HttpApiBuilder.group(AdminApi, "figures", (handlers) =>
  Effect.zipWith(FigureHistory, OneByOne.make, (history, oneByOne) =>
    handlers.handleRaw("adminHistory", answerHistory(history, "operator", oneByOne)),
  ),
)

const provider = HttpApiBuilder.group(AdminApi, "provider", (handlers) =>
  Effect.gen(function* () {
    const { circuits } = yield* MetricsProvider
    const { report } = yield* ProviderReport.ProviderReport
    return handlers
      .handle("providerStatus", () =>
        circuits.pipe(
          Effect.flatMap(Effect.forEach(stateOf, { concurrency: "unbounded" })),
          Effect.map((providers) => answer({ providers })),
        ),
      )
      .handle("providerReport", ({ urlParams: { reconcile, ...question } }) =>
        circuits.pipe(
          Effect.flatMap((vendors) => report(question, reconcile && vendors)),
          Effect.map(answer),
          Effect.catchTag("StoreTimeout", refuseUnavailable),
        ),
      )
  }),
).pipe(Layer.provide(ProviderReport.layer))

export const circuitOf = (circuit: Circuit) => {
  const { isExhausted, openReason } = circuit
  const state = openReason === undefined ? "closed" : isExhausted ? "exhausted" : "open"
  return { circuit: state, reason: reasonOf(circuit) ?? null } as const
}

export const errorsOf = ({ calls }: Circuit) =>
  calls.errors.map((error) => ({ ...error, at: isoTime(error.at) }))

const stateOf = (circuit: Circuit) =>
  statusInTime(circuit).pipe(
    Effect.either,
    Effect.map((said) => {
      const { calls, provider } = circuit
      const { index = null, quota } = Either.getOrElse(said, (): ProviderStatus => ({}))
      return {
        provider,
        ...circuitOf(circuit),
        callsInFlight: calls?.inFlight ?? null,
        callLimit: calls?.limit ?? null,
        latencyMs: calls?.latencyMs ?? null,
        errors: errorsOf(circuit),
        quota: quotaDocumentOf(quota),
        index,
        statusError: Either.isLeft(said) ? said.left.message : null,
      } as const
    }),
  )

const usage = HttpApiBuilder.group(AdminApi, "usage", (handlers) =>
  Effect.gen(function* () {
    const find = makeFind(yield* Accounts)
    const report = yield* UsageReport
    return handlers.handleRaw("adminUsage", ({ urlParams: { account: name, ...question } }) =>
      Effect.gen(function* () {
        const account = name === undefined ? undefined : (yield* find(name)).id
        return answerJson({ rows: yield* report.rows({ ...question, account }) })
      }).pipe(Effect.catchTag("StoreTimeout", refuseUnavailable)),
    )
  }),
)

const audit = HttpApiBuilder.group(AdminApi, "audit", (handlers) =>
  Effect.map(AuditLog, ({ list }) =>
    handlers.handle("audit", ({ urlParams }) =>
      Effect.map(reading(list(urlParams)), (lines) =>
        answer({ entries: lines.map((line) => ({ ...line, at: isoTime(line.at) })) }),
      ),
    ),
  ),
)

const document = HttpApiBuilder.group(AdminApi, "document", (handlers) =>
  handlers.handle("adminDocument", () =>
    Effect.promise(async () => {
      const { fromApi } = await import("@effect/platform/OpenApi")
      return fromApi(AdminApi)
    }),
  ),
)

export const layer = Layer.mergeAll(accounts, keys, figures, provider, usage, audit, document)
