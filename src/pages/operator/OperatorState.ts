/** The state of the operator's pages. The token is kept in memory only. */
import { batch, computed, effect, signal, useSignal } from "@preact/signals"
import { useEffect, useMemo, useState } from "preact/hooks"
import { v4 as uuid } from "uuid"
import { hash } from "../startPage.ts"
import { type AdminApi, adminApi, pageRows, Refused } from "./AdminApi.ts"

export const api = signal<AdminApi | undefined>(undefined)
export const problem = signal<string | undefined>(undefined)
export const isBusy = signal(false)
/** The secrets of new keys. Each is shown until the operator has copied it. */
export const newKeys = signal<ReadonlyArray<{ readonly key: string; readonly account: string }>>([])

/** The page and its subject, read from an address such as `#/customers/acme?since=2026-11-01`. */
export const route = computed(() => {
  const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?")
  const [page = "", subject = ""] = path.split("/")
  return { page: page || "overview", subject: decoded(subject), query: new URLSearchParams(query) }
})

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

effect(() => {
  void hash.value
  problem.value = undefined
})

export const customerPage = (name: string) => `#/customers/${encodeURIComponent(name)}`

/** Runs a call and shows why it was refused. A wrong token signs out. */
const attempt = async (run: () => Promise<void>) => {
  try {
    await run()
    return true
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.status === 401) signOut()
    problem.value = error.message
    return false
  }
}

/** Runs one act at a time. */
export const act = async (run: (api: AdminApi) => Promise<void>, caller = api.value) => {
  if (caller === undefined || isBusy.value) return false
  isBusy.value = true
  problem.value = undefined
  try {
    return await attempt(() => run(caller))
  } finally {
    isBusy.value = false
  }
}

export const signIn = (token: string) =>
  act(async (made) => {
    await made.audit({})
    api.value = made
  }, adminApi(token))

export const signOut = () =>
  batch(() => {
    api.value = undefined
    newKeys.value = []
  })

/** The number of reads in progress. */
export const reads = signal(0)

/** Changes when the data on the page must be read again. */
const version = signal(0)
export const refresh = () => {
  problem.value = undefined
  version.value++
}

/** Makes a change, and reads the page's data again. Resolves to true if the change succeeded. */
export const change = async (run: (api: AdminApi) => Promise<unknown>) => {
  const isChanged = await act(async (api) => void (await run(api)))
  if (isChanged) version.value++
  return isChanged
}

/** Reads the data of a subject. While they are read again, the previous data stay on the page. */
export const useRead = <A>(
  subject: string,
  read: (api: AdminApi) => Promise<A>,
  ...filter: ReadonlyArray<string>
) => {
  const [found, setFound] = useState<{ readonly subject: string; readonly data: A }>()
  const asked = version.value
  const caller = api.value
  useEffect(() => {
    if (caller === undefined) return
    let isWanted = true
    reads.value++
    void attempt(async () => {
      const data = await read(caller)
      if (isWanted) setFound({ subject, data })
    }).finally(() => reads.value--)
    return () => void (isWanted = false)
  }, [subject, asked, caller, ...filter])
  return found?.subject === subject ? found.data : undefined
}

/** Reads a long list, newest first. `more` reads older rows, and is undefined if there are none. */
export const usePages = <Row extends { readonly sequence: number }>(
  subject: string,
  read: (api: AdminApi, before?: number) => Promise<ReadonlyArray<Row>>,
  ...filter: ReadonlyArray<string>
) => {
  const first = useRead(subject, read, ...filter)
  const older = useSignal<ReadonlyArray<Row>>([])
  useEffect(() => void (older.value = []), [first])
  const rows = first && [...first, ...older.value]
  const last = rows?.at(-1)?.sequence ?? 1
  const isWhole = rows === undefined || rows.length % pageRows !== 0 || last <= 1
  const more = () =>
    act(async (api) => void (older.value = [...older.value, ...(await read(api, last))]))
  return { rows, more: isWhole ? undefined : more }
}

/**
 * An idempotency key for the contents of a form. If an answer was lost, the same form can be sent
 * again, and the change is made only once.
 */
export const useOrder = (...fields: ReadonlyArray<string>) => useMemo(() => uuid(), fields)

/** A search text that takes effect when the operator stops typing. */
export const useTyped = () => {
  const typed = useSignal("")
  const [settled, settle] = useState("")
  const text = typed.value.trim()
  useEffect(() => {
    const timer = setTimeout(() => settle(text), 200)
    return () => clearTimeout(timer)
  }, [text])
  return { typed, settled }
}
