/**
 * Calls the administration API. Its types come from the contract, whose schemas stay on the server:
 * they would make up most of the page, and the same program serves the page and the API.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import type { HttpApi } from "@effect/platform/HttpApi"
import { v4 as uuid } from "uuid"
import * as v from "valibot"
import type { AdminApi as Contract } from "../../contract/AdminApi.ts"
import { maxRows } from "../../contract/Limits.ts"
import { adminPaths } from "../../contract/Wire.ts"

type Endpoints =
  typeof Contract extends HttpApi<string, infer Groups, infer _E, infer _R>
    ? HttpApiGroup.HttpApiGroup.Endpoints<Groups>
    : never
type Name = Endpoints["name"]
type Answer<N extends Name> = HttpApiEndpoint.HttpApiEndpoint.SuccessWithName<Endpoints, N>
type Data<N extends Name> = Answer<N> extends { readonly data: infer A } ? A : never

export type Account = Data<"account">["account"]
export type Key = Data<"accountKeys">["keys"][number]
export type Budget = NonNullable<Key["budget"]>
export type Entry = Data<"statement">["entries"][number]
export type UsageRow = Data<"adminUsage">["rows"][number]
export type Overview = Data<"overview">
export type Vendor = Overview["vendors"][number]
export type Provider = Data<"providerStatus">["providers"][number]
export type CostRow = Data<"providerReport">["rows"][number]
export type AuditLine = Data<"audit">["entries"][number]

/** The administration refused a call, or could not be reached. */
export class Refused extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

const Issue = v.object({ path: v.array(v.string()), message: v.string() })
const Failure = v.object({
  message: v.string(),
  error: v.optional(v.object({ issues: v.array(Issue) })),
})

/** The text of a refusal. For a form, it says what is wrong with each field. */
const textOf = ({ error, message }: v.InferOutput<typeof Failure>) =>
  error?.issues.map(({ message, path }) => `${path.join(".")}: ${message}`).join("; ") ?? message

/** The timeout of a call to a service that hangs: the operator cannot sign out during a call. */
const timeoutMs = 60_000

const unreachable = "The service does not answer. Check the connection, and try again."
const mayBeDone = "The change may be made already: press Refresh before you repeat it."

type Query = Readonly<Record<string, string | number | undefined>>

/** Returns a function that calls the administration. It rejects with Refused. */
const caller =
  (token: string) =>
  async (
    method: Endpoints["method"],
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    if (/[^\x20-\x7e]/.test(token))
      throw new Refused("The token has a character that is not ASCII.")
    const hint = method === "GET" ? "" : ` ${mayBeDone}`
    // Relative, so that a proxy can serve the console under any path.
    const response = await fetch(`..${path}`, {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => undefined)
    const answer = await response?.json().catch(() => undefined)
    if (response === undefined || (response.ok && answer?.success !== true))
      throw new Refused(unreachable + hint)
    if (response.ok) return answer.data
    const failure = v.safeParse(Failure, answer)
    throw new Refused(
      failure.success ? textOf(failure.output) : `The service answered ${response.status}.${hint}`,
      response.status,
    )
  }

const queryOf = (query: Query) =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, String(value)]],
    ),
  ).toString()

const accountPath = (name: string) => `${adminPaths.accounts}/${encodeURIComponent(name)}`
const keyPath = (id: string) => `${adminPaths.keys}/${encodeURIComponent(id)}`

export const pageRows = 100

/** The calls of the administration, with one token. Each rejects with Refused. */
export const adminApi = (token: string) => {
  const call = caller(token)
  const get = <N extends Name>(path: string, query?: Query): Promise<Data<N>> =>
    call("GET", query === undefined ? path : `${path}?${queryOf(query)}`)
  /** Repeating the call with the same idempotency key changes nothing further. */
  const post = <N extends Name>(path: string, body: object, key = uuid()): Promise<Data<N>> =>
    call("POST", path, body, { "idempotency-key": key })
  const patch = <N extends Name>(path: string, body: object): Promise<Data<N>> =>
    call("PATCH", path, body)

  return {
    accounts: (search: string) => get<"accounts">(adminPaths.accounts, { limit: maxRows, search }),
    account: (name: string) => get<"account">(accountPath(name)),
    createAccount: (name: string, credits: number, key: string) =>
      post<"createAccount">(adminPaths.accounts, { name, credits }, key),
    suspend: (name: string, suspended: boolean) =>
      patch<"updateAccount">(accountPath(name), { suspended }),
    changeCredits: (name: string, amount: number, note: string, key: string) =>
      post<"changeCredits">(
        `${accountPath(name)}/credits`,
        { amount, ...(note !== "" && { note }) },
        key,
      ),
    statement: (name: string, before?: number) =>
      get<"statement">(`${accountPath(name)}/statement`, { limit: pageRows, before }),
    /** Returns all keys, fetched page by page. */
    keys: async (name: string): Promise<ReadonlyArray<Key>> => {
      const all: Array<Key> = []
      for (;;) {
        const query = { limit: maxRows, before: all.at(-1)?.id }
        const { keys } = await get<"accountKeys">(`${accountPath(name)}/keys`, query)
        all.push(...keys)
        if (keys.length < maxRows) return all
      }
    },
    createKey: (name: string, body: object) => post<"createKey">(`${accountPath(name)}/keys`, body),
    updateKey: (id: string, body: object) => patch<"updateKey">(keyPath(id), body),
    rotate: (id: string) => post<"rotateKey">(`${keyPath(id)}/rotate`, { grace: "24h" }),
    revoke: (id: string): Promise<Data<"revokeKey">> => call("DELETE", keyPath(id)),
    usage: (by: "day" | "key" | "account", since: string, account?: string) =>
      get<"adminUsage">(adminPaths.usage, { by, since, limit: maxRows, account }),
    overview: () => get<"overview">(adminPaths.overview),
    providers: () => get<"providerStatus">(adminPaths.providerStatus),
    report: (since: string) =>
      get<"providerReport">(adminPaths.providerReport, { since, limit: maxRows }),
    audit: (filter: Query, before?: number) =>
      get<"audit">(adminPaths.audit, { ...filter, limit: pageRows, before }),
  }
}

export type AdminApi = ReturnType<typeof adminApi>
