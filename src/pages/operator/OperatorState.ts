/** The state of the operator's console. The token is in memory only. */
import { batch, signal } from "@preact/signals"
import { type Account, type AdminApi, adminApi, Refused } from "./AdminApi.ts"
import type * as Api from "./AdminApi.ts"

export interface Opened {
  readonly account: Account
  readonly keys: ReadonlyArray<Api.Key>
  readonly entries: ReadonlyArray<Api.Entry>
  readonly days: ReadonlyArray<Api.UsageRow>
  /** The credits of the last seven days by the id of the key. */
  readonly spentByKey: ReadonlyMap<string, number>
}

export const api = signal<AdminApi | undefined>(undefined)
export const problem = signal<string | undefined>(undefined)
export const isBusy = signal(false)
export const search = signal("")
export const accounts = signal<ReadonlyArray<Account>>([])
/** The credits of the last seven days by the name of the account. */
export const spent = signal<ReadonlyMap<string, number>>(new Map())
export const opened = signal<Opened | undefined>(undefined)
export const providers = signal<ReadonlyArray<Api.Provider>>([])
export const costs = signal<Api.Report>({ rows: [] })
export const audit = signal<ReadonlyArray<Api.AuditLine>>([])
/** The secrets of new keys. Each is shown until the operator has copied it. */
export const newKeys = signal<ReadonlyArray<{ readonly key: string; readonly account: string }>>([])

/** Shows the secret of a new key; null when the service does not repeat it. */
export const showKey = (account: string, key: string | null) => {
  if (key !== null) newKeys.value = [{ key, account }, ...newKeys.value]
}

const dayMs = 86_400_000

const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10)

/** Runs an act, and shows why it was refused. A wrong token signs out. */
export const act = async (run: (api: AdminApi) => Promise<void>, caller = api.value) => {
  if (caller === undefined || isBusy.value) return false
  isBusy.value = true
  problem.value = undefined
  try {
    await run(caller)
    return true
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.status === 401) signOut()
    problem.value = error.message
    return false
  } finally {
    isBusy.value = false
  }
}

export const signIn = (token: string) =>
  act(async (made) => {
    await refresh(made)
    api.value = made
  }, adminApi(token))

export const signOut = () =>
  batch(() => {
    api.value = undefined
    accounts.value = []
    spent.value = new Map()
    opened.value = undefined
    providers.value = []
    costs.value = { rows: [] }
    audit.value = []
    newKeys.value = []
  })

/** Reads what the page shows again. */
export const refresh = async (api: AdminApi) => {
  // Alone, so that a wrong token counts once.
  const found = await api.accounts(search.value.trim())
  const [usage, states, report, lines, account] = await Promise.all([
    api.usage("account", daysAgo(6)),
    api.providers(),
    api.report(daysAgo(29)),
    api.audit(),
    opened.value === undefined ? undefined : read(api, opened.value.account.name),
  ])
  batch(() => {
    accounts.value = found.accounts
    spent.value = new Map(usage.rows.map(({ account = "", credits }) => [account, credits]))
    providers.value = states.providers
    costs.value = report
    audit.value = lines.entries
    opened.value = account
  })
}

export const open = (name: string) =>
  act(async (api) => {
    opened.value = await read(api, name)
  })

/** Asks the vendors for their own counts. */
export const reconcile = () =>
  act(async (api) => {
    costs.value = await api.report(daysAgo(29), { reconcile: "true" })
  })

export const moreAudit = () =>
  act(async (api) => {
    const { entries } = await api.audit(audit.value.at(-1)?.sequence)
    audit.value = [...audit.value, ...entries]
  })

/** Changes something, and shows the result. Resolves to true when it is changed. */
export const change = async (run: (api: AdminApi) => Promise<unknown>) => {
  const isChanged = await act(async (api) => void (await run(api)))
  if (isChanged) await act(refresh)
  return isChanged
}

const read = async (api: AdminApi, name: string): Promise<Opened> => {
  const [{ account }, keys, { entries }, days, byKey] = await Promise.all([
    api.account(name),
    api.keys(name),
    api.statement(name),
    api.usage("day", daysAgo(29), name),
    api.usage("key", daysAgo(6), name),
  ])
  return {
    account,
    keys,
    entries,
    days: days.rows,
    spentByKey: new Map(byKey.rows.map(({ credits, key }) => [key?.id ?? "", credits])),
  }
}
