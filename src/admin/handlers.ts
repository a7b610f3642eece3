/** The handlers of the administration's endpoints. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { type Account, type AccountId, type AccountNotFound, Accounts } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeys, type KeySearch } from "../ApiKeys.ts"
import { AuditLog, refused } from "../AuditLog.ts"
import { AdminApi } from "../contract/AdminApi.ts"
import { Contradiction, NotFound } from "../contract/Envelope.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { FigureHistory } from "../providers/FigureHistory.ts"
import { reading, refuseUnavailable } from "../http/errorAnswer.ts"
import { answerHistory } from "../http/handlers.ts"
import * as OneByOne from "../http/OneByOne.ts"
import { type Spent, textOf } from "../ledger/Budget.ts"
import * as Balance from "../ledger/Balance.ts"
import { creditsOf } from "../ledger/Credits.ts"
import type { StatementEntry } from "../ledger/LedgerEntry.ts"
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
import { UsageReport } from "../UsageReport.ts"
import { type Done, once, repeated } from "./acts.ts"

const answer = <A>(data: A) => ({ success: true as const, data })

const notFound = ({ message }: { readonly message: string }) => new NotFound({ message })
const contradiction = ({ message }: { readonly message: string }) => new Contradiction({ message })

const fundsOf = ({ charged, granted, held }: Balance.Funds) => ({
  available: creditsOf(Balance.available({ charged, granted, held })),
  held,
  granted,
  charged,
})

/** Answers an act that is done now, or was done before under the same idempotency key. */
const answerDone = <A extends object>({ isRepeat }: Done<unknown>, data: A) =>
  isRepeat ? repeated(data) : answer(data)

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
    const { recent = noRecent(ledger) } = ledger

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
      .handleRaw("accounts", ({ urlParams: { before, limit, search: text } }) =>
        Effect.gen(function* () {
          const found = yield* reading(accounts.search({ text, limit, before }))
          const rows = yield* Effect.forEach(found, rowOf, { concurrency: "unbounded" })
          return HttpServerResponse.unsafeJson(answer({ accounts: rows }))
        }),
      )
      .handle("createAccount", ({ payload: { credits = creditsOf(0), name } }) =>
        Effect.gen(function* () {
          const created = accounts.create(name).pipe(refused("account.create", name))
          const done = yield* once("account.create", Effect.mapError(created, contradiction))
          const id = done.isRepeat ? (yield* find(done.rowId)).id : done.value.id
          if (credits > 0) yield* once("credits.grant", change(id, credits, "opening grant"))
          return answerDone(done, { account: { id, name }, credits })
        }),
      )
      .handle("account", ({ path }) =>
        Effect.gen(function* () {
          return answer({ account: yield* rowOf(yield* find(path.name)) })
        }),
      )
      .handle("updateAccount", ({ path, payload: { suspended } }) =>
        Effect.gen(function* () {
          const act = suspended ? "account.suspend" : "account.resume"
          const { id } = yield* find(path.name, act)
          const changed = (suspended ? accounts.suspend(id) : accounts.resume(id)).pipe(
            refused(act, path.name),
          )
          return answer({ account: yield* rowOf(yield* Effect.mapError(changed, notFound)) })
        }),
      )
      .handle("changeCredits", ({ path, payload: { amount, note } }) =>
        Effect.gen(function* () {
          const action = amount > 0 ? "credits.grant" : "credits.correct"
          const { id, name } = yield* find(path.name, action)
          const done = yield* once(action, change(id, amount, note).pipe(refused(action, name)))
          const balance = done.isRepeat ? yield* balanceOf(id) : done.value
          return answerDone(done, { account: name, ...fundsOf(balance) })
        }),
      )
      .handleRaw("statement", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const { id, name } = yield* find(path.name)
          const entries = yield* reading(recent(id, urlParams))
          return HttpServerResponse.unsafeJson(
            answer({ account: name, entries: entries.map(entryOf) }),
          )
        }),
      )
  }),
)

/** Grants credits, or takes a wrong grant back when the amount is negative. */
const makeChange =
  ({ correct = noCorrections, grant }: CreditLedger["Type"]) =>
  (id: AccountId, amount: number, note = "") =>
    Effect.mapError(
      amount > 0
        ? grant(id, creditsOf(amount), note === "" ? null : note)
        : correct(id, creditsOf(-amount), note),
      contradiction,
    )

const noCorrections: NonNullable<CreditLedger["Type"]["correct"]> = () =>
  Effect.dieMessage("this ledger has no corrections")

// A ledger of one's own that has only the statement: its newest entries are the last of it.
const noRecent =
  ({ statement }: CreditLedger["Type"]): NonNullable<CreditLedger["Type"]["recent"]> =>
  (account, { before = Number.POSITIVE_INFINITY, limit }) =>
    statement(account, {}).pipe(
      Stream.filter(({ sequence }) => sequence < before),
      Stream.takeRight(limit),
      Stream.runCollect,
      Effect.map((entries) => Chunk.toReadonlyArray(Chunk.reverse(entries))),
    )

const entryOf = ({ amount, apiKeyId, at, kind, ...entry }: StatementEntry) => ({
  sequence: entry.sequence,
  at: isoTime(at),
  kind,
  amount: kind === "grant" ? amount : -amount,
  balanceAfter: entry.balanceAfter,
  urls: entry.urls,
  requestId: entry.requestId,
  key: apiKeyId ?? null,
  note: entry.note,
})

const keys = HttpApiBuilder.group(AdminApi, "keys", (handlers) =>
  Effect.gen(function* () {
    const find = makeFind(yield* Accounts)
    const keys = yield* ApiKeys
    const { budgets = () => Effect.succeed(new Map<ApiKey.ApiKeyId, Spent>()) } =
      yield* CreditLedger

    const rowsOf = (search: KeySearch) =>
      Effect.gen(function* () {
        const found = yield* reading(keys.search(search))
        const ids = found.map(({ id }) => id)
        const spent = yield* Effect.catchAll(budgets(ids), refuseUnavailable)
        const now = yield* Clock.currentTimeMillis
        return found.map((key) => ({
          account: key.accountName,
          ...ApiKey.documentOf(key, spent.get(key.id), now),
        }))
      })

    const answerNewKey = makeAnswerNewKey(find, keys)

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
      .handle("createKey", ({ path, payload }) =>
        Effect.gen(function* () {
          const account = yield* find(path.name, "key.create")
          const done = yield* once("key.create", keys.issue({ account: account.id, ...payload }))
          return yield* answerNewKey(done)
        }),
      )
      .handle("updateKey", ({ path, payload }) =>
        Effect.gen(function* () {
          const updated = keys.update(path.id, payload).pipe(refused("key.update", path.id))
          const key = yield* Effect.mapError(updated, notFound)
          const { name: account } = yield* find(key.accountId)
          const spent = yield* Effect.catchAll(budgets([key.id]), refuseUnavailable)
          const now = yield* Clock.currentTimeMillis
          return answer({ key: { account, ...ApiKey.documentOf(key, spent.get(key.id), now) } })
        }),
      )
      .handle("rotateKey", ({ path, payload: { grace = Duration.zero } }) =>
        Effect.gen(function* () {
          const rotated = keys.rotate(path.id, grace).pipe(refused("key.rotate", path.id))
          // The line of the new key names it; the line of the rotation names the old one.
          const done = yield* once("key.create", Effect.mapError(rotated, notFound))
          return yield* answerNewKey(done)
        }),
      )
      .handle("revokeKey", ({ path }) =>
        Effect.gen(function* () {
          const revoked = keys.revoke(path.id).pipe(refused("key.revoke", path.id))
          const { id, revokedAt } = yield* Effect.mapError(revoked, notFound)
          return answer({ id, revokedAt: isoTime(revokedAt) })
        }),
      )
  }),
)

const makeAnswerNewKey =
  (find: ReturnType<typeof makeFind>, keys: ApiKeys["Type"]) => (done: Done<ApiKey.IssuedKey>) =>
    Effect.gen(function* () {
      if (!done.isRepeat) {
        const { key, record } = done.value
        const { name } = yield* find(record.accountId)
        return answer(newKeyOf(record, name, Redacted.value(key)))
      }
      const record = yield* Effect.mapError(keys.find(ApiKey.ApiKeyId.make(done.rowId)), notFound)
      const { name } = yield* find(record.accountId)
      const { budget } = record
      // The answer to a repeat has no key: the secret is stored nowhere.
      return repeated({
        ...newKeyOf(record, name, null),
        budget: budget == null ? null : textOf(budget),
      })
    })

const newKeyOf = (record: ApiKey.ApiKey, account: string, key: string | null) => ({
  key,
  id: record.id,
  account,
  expiresAt: isoTime(record.expiresAt),
  scopes: record.scopes,
  budget: record.budget ?? null,
})

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
      .handle("providerReport", ({ urlParams: { limit, reconcile, since, until } }) =>
        circuits.pipe(
          Effect.flatMap((vendors) =>
            report(
              { since: since?.getTime(), until: until?.getTime(), limit },
              reconcile === undefined ? undefined : vendors,
            ),
          ),
          Effect.map(answer),
          Effect.catchTag("StoreTimeout", refuseUnavailable),
        ),
      )
  }),
).pipe(Layer.provide(ProviderReport.layer))

const stateOf = (circuit: Circuit) =>
  statusInTime(circuit).pipe(
    Effect.either,
    Effect.map((said) => {
      const { calls, isExhausted, openReason, provider } = circuit
      const { index = null, quota } = Either.getOrElse(said, (): ProviderStatus => ({}))
      return {
        provider,
        circuit: openReason === undefined ? "closed" : isExhausted ? "exhausted" : "open",
        reason: reasonOf(circuit) ?? null,
        callsInFlight: calls?.inFlight ?? null,
        callLimit: calls?.limit ?? null,
        latencyMs: calls?.latencyMs ?? null,
        errors: (calls?.errors ?? []).map((error) => ({ ...error, at: isoTime(error.at) })),
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
    return handlers.handleRaw(
      "adminUsage",
      ({ urlParams: { account: name, by, limit, since, until } }) =>
        Effect.gen(function* () {
          const account = name === undefined ? undefined : yield* find(name)
          const rows = yield* report.rows({
            by,
            account: account?.id,
            since: since?.getTime(),
            until: until?.getTime(),
            limit,
          })
          return HttpServerResponse.unsafeJson(answer({ rows }))
        }).pipe(
          Effect.catchTags({
            StoreTimeout: refuseUnavailable,
            UsageNotCounted: notFound,
          }),
        ),
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
