/** Calls the administration. The token is kept in memory only. */
import { v4 as uuid } from "uuid"
import * as v from "valibot"
import { maxRows } from "../../contract/Limits.ts"
import { adminPaths } from "../../contract/Wire.ts"

/** The administration refused a call, or could not be reached. */
export class Refused extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

const Funds = { available: v.number(), held: v.number(), granted: v.number(), charged: v.number() }

export const Account = v.object({
  id: v.string(),
  name: v.string(),
  suspended: v.boolean(),
  ...Funds,
})
export type Account = v.InferOutput<typeof Account>

const Budget = v.object({
  credits: v.number(),
  period: v.picklist(["day", "month", "total"]),
  used: v.number(),
  remaining: v.number(),
  resetsAt: v.nullable(v.string()),
})
export type Budget = v.InferOutput<typeof Budget>

export const Key = v.object({
  id: v.string(),
  account: v.string(),
  start: v.string(),
  label: v.nullable(v.string()),
  state: v.picklist(["active", "expired", "revoked"]),
  scopes: v.array(v.string()),
  budget: v.nullable(Budget),
  expiresAt: v.nullable(v.string()),
  lastUsedAt: v.nullable(v.string()),
})
export type Key = v.InferOutput<typeof Key>

const Keys = v.object({ keys: v.array(Key) })

const NewKey = v.object({ key: v.nullable(v.string()), id: v.string(), account: v.string() })

const Entry = v.object({
  sequence: v.number(),
  at: v.string(),
  kind: v.string(),
  amount: v.number(),
  balanceAfter: v.number(),
  requestId: v.nullable(v.string()),
  note: v.nullable(v.string()),
})
export type Entry = v.InferOutput<typeof Entry>

const UsageRow = v.object({
  day: v.optional(v.string()),
  account: v.optional(v.string()),
  key: v.optional(v.nullable(v.object({ id: v.string(), label: v.nullable(v.string()) }))),
  checks: v.number(),
  credits: v.number(),
})
export type UsageRow = v.InferOutput<typeof UsageRow>

const Usage = v.object({ rows: v.array(UsageRow) })

const Provider = v.object({
  provider: v.string(),
  circuit: v.picklist(["closed", "open", "exhausted"]),
  reason: v.nullable(v.string()),
  callsInFlight: v.nullable(v.number()),
  latencyMs: v.nullable(v.number()),
  errors: v.array(v.object({ at: v.string(), reason: v.string(), message: v.string() })),
  quota: v.nullable(v.object({ unit: v.string(), allotted: v.number(), left: v.number() })),
  index: v.nullable(v.string()),
  statusError: v.nullable(v.string()),
})
export type Provider = v.InferOutput<typeof Provider>

const sums = {
  calls: v.number(),
  rows: v.number(),
  cost: v.nullable(v.number()),
  failed: v.number(),
  unanswered: v.number(),
}

const CostRow = v.union([
  v.object({ provider: v.string(), day: v.string(), ...sums }),
  v.object({
    provider: v.null(),
    day: v.string(),
    answeredFromCache: v.number(),
    creditsCharged: v.number(),
  }),
])
export type CostRow = v.InferOutput<typeof CostRow>

const VendorCount = v.object({
  provider: v.string(),
  month: v.object(sums),
  quota: v.nullable(v.object({ unit: v.string(), allotted: v.number(), left: v.number() })),
  error: v.nullable(v.string()),
})
export type VendorCount = v.InferOutput<typeof VendorCount>

const Report = v.object({ rows: v.array(CostRow), counts: v.optional(v.array(VendorCount)) })
export type Report = v.InferOutput<typeof Report>

const AuditLine = v.object({
  sequence: v.number(),
  at: v.string(),
  actor: v.string(),
  action: v.string(),
  subject: v.string(),
  detail: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()])),
})
export type AuditLine = v.InferOutput<typeof AuditLine>

const Issue = v.object({ path: v.array(v.string()), message: v.string() })
const Failure = v.object({
  message: v.string(),
  error: v.optional(v.object({ issues: v.array(Issue) })),
})

/** The text of a refusal: of a form, what is wrong with each field. */
const textOf = ({ error, message }: v.InferOutput<typeof Failure>) =>
  error?.issues.map(({ message, path }) => `${path.join(".")}: ${message}`).join("; ") ?? message

/** The limit of a call, for a service that hangs: the operator cannot sign out during a call. */
const timeoutMs = 60_000

const unreachable = "The service does not answer. Check the connection, and try again."
const mayBeDone = "The change may be made already: press Refresh before you repeat it."

/** Returns a function that calls the administration. It rejects with Refused. */
const caller =
  (token: string) =>
  async <A>(
    method: string,
    path: string,
    data: v.GenericSchema<unknown, A>,
    body?: object,
    idempotencyKey = uuid(),
  ): Promise<A> => {
    if (/[^\x20-\x7e]/.test(token))
      throw new Refused("The token has a character that is not ASCII.")
    const hint = method === "GET" ? "" : ` ${mayBeDone}`
    const lost = () => new Refused(unreachable + hint)
    // Relative, so that a proxy can serve the console under any path.
    const response = await fetch(path.slice(1), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(method === "POST" && { "idempotency-key": idempotencyKey }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => {
      throw lost()
    })
    const json: unknown = await response.json().catch(() => undefined)
    if (!response.ok) {
      const failure = v.safeParse(Failure, json)
      throw new Refused(
        failure.success
          ? textOf(failure.output)
          : `The service answered ${response.status}.${hint}`,
        response.status,
      )
    }
    if (json === undefined) throw lost()
    const answer = v.safeParse(v.object({ data }), json)
    if (!answer.success) throw new Refused("The answer is not of this version. Reload the page.")
    return answer.output.data
  }

const accountPath = (name: string, more = "") =>
  `${adminPaths.accounts}/${encodeURIComponent(name)}${more}`
const keyPath = (id: string, more = "") => `${adminPaths.keys}/${encodeURIComponent(id)}${more}`
const query = (parameters: Readonly<Record<string, string>>) =>
  `?${new URLSearchParams(parameters)}`

/** The calls of the administration, with one token. Each rejects with Refused. */
export const adminApi = (token: string) => {
  const call = caller(token)

  return {
    accounts: (search: string) =>
      call(
        "GET",
        `${adminPaths.accounts}${query({ limit: String(maxRows), ...(search !== "" && { search }) })}`,
        v.object({ accounts: v.array(Account) }),
      ),
    account: (name: string) => call("GET", accountPath(name), v.object({ account: Account })),
    /** A repeat with the same `order` does nothing again. */
    createAccount: (name: string, credits: number, order: string) =>
      call("POST", adminPaths.accounts, v.object({}), { name, credits }, order),
    suspend: (name: string, suspended: boolean) =>
      call("PATCH", accountPath(name), v.object({}), { suspended }),
    /** A repeat with the same `order` does nothing again. */
    changeCredits: (name: string, amount: number, note: string, order: string) =>
      call(
        "POST",
        accountPath(name, "/credits"),
        v.object({}),
        { amount, ...(note !== "" && { note }) },
        order,
      ),
    statement: (name: string) =>
      call("GET", accountPath(name, "/statement?limit=20"), v.object({ entries: v.array(Entry) })),
    /** All keys, page by page. */
    keys: async (name: string): Promise<ReadonlyArray<Key>> => {
      const all: Array<Key> = []
      for (;;) {
        const last = all.at(-1)
        const page = query({ limit: String(maxRows), ...(last && { before: last.id }) })
        const { keys } = await call("GET", accountPath(name, `/keys${page}`), Keys)
        all.push(...keys)
        if (keys.length < maxRows) return all
      }
    },
    createKey: (name: string, terms: object) =>
      call("POST", accountPath(name, "/keys"), NewKey, terms),
    updateKey: (id: string, changes: object) => call("PATCH", keyPath(id), v.object({}), changes),
    rotate: (id: string) => call("POST", keyPath(id, "/rotate"), NewKey, { grace: "24h" }),
    revoke: (id: string) => call("DELETE", keyPath(id), v.object({})),
    usage: (by: "day" | "key" | "account", since: string, account?: string) => {
      const limit = String(maxRows)
      return call(
        "GET",
        `${adminPaths.usage}${query({ by, since, limit, ...(account !== undefined && { account }) })}`,
        Usage,
      )
    },
    providers: () =>
      call("GET", adminPaths.providerStatus, v.object({ providers: v.array(Provider) })),
    report: (since: string, more: { readonly reconcile?: "true" } = {}) =>
      call(
        "GET",
        `${adminPaths.providerReport}${query({ since, limit: String(maxRows), ...more })}`,
        Report,
      ),
    audit: (before?: number) =>
      call(
        "GET",
        `${adminPaths.audit}${query({ limit: "50", ...(before !== undefined && { before: String(before) }) })}`,
        v.object({ entries: v.array(AuditLine) }),
      ),
  }
}

export type AdminApi = ReturnType<typeof adminApi>
