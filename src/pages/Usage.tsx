/** Shows what the account of the entered key has used, to anyone who holds the key. */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import {
  isClientError,
  type Key,
  type StatementEntry,
  type UsageRow,
} from "../client/PromiseClient.ts"
import type { Budget } from "../contract/Wire.ts"
import { account, client, credits, key, refreshCredits } from "./Account.ts"
import { daysAgo, UsageChart } from "./DayChart.tsx"
import { Entry } from "./console/KeyPanel.tsx"
import { Facts, Used, Waiting } from "./Parts.tsx"
import { type Column, num, Table, text, when, words } from "./Table.tsx"
import { minute, number } from "./Texts.ts"

interface Found {
  readonly key: Key
  readonly days: ReadonlyArray<UsageRow>
  readonly keys: ReadonlyArray<UsageRow>
  readonly entries: ReadonlyArray<StatementEntry>
}

const pageRows = 100

export const Usage = () => {
  const apiKey = key.value
  return (
    <main class="page">
      {apiKey === undefined ? (
        <>
          <div class="line title">
            <h1>Usage</h1>
          </div>
          <p class="hint">Enter your key, to see what its account used.</p>
          <Entry />
        </>
      ) : (
        <OfKey key={apiKey} apiKey={apiKey} />
      )}
    </main>
  )
}

const OfKey = ({ apiKey }: { readonly apiKey: string }) => {
  const found = useSignal<Found | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const asking = client({ apiKey, timeoutMs: 20_000, patienceMs: 0 })
  const show = async (read: () => Promise<Found>) => {
    try {
      found.value = await read()
      problem.value = undefined
    } catch (error) {
      if (!isClientError(error)) throw error
      problem.value = error.message
    }
  }
  const read = () =>
    show(async () => {
      const since = new Date(daysAgo(29))
      const [own, days, keys, { entries }] = await Promise.all([
        asking.key(),
        asking.usage({ since }),
        asking.usage({ since, by: "key" }),
        asking.statement({ limit: pageRows }),
      ])
      return { key: own, days: days.rows, keys: keys.rows, entries }
    })
  const older = (of: Found) =>
    show(async () => {
      const before = of.entries.at(-1)?.sequence
      const { entries } = await asking.statement({ limit: pageRows, before })
      return { ...of, entries: [...of.entries, ...entries] }
    })
  useEffect(() => void read(), [])
  return (
    <>
      <div class="line title">
        <h1>Usage{account.value !== undefined && ` of ${account.value}`}</h1>
        <button
          type="button"
          class="quiet"
          onClick={() => void Promise.all([read(), refreshCredits()])}
        >
          Refresh
        </button>
      </div>
      <div role="alert">
        {problem.value !== undefined && <p class="notice stop">{problem.value}</p>}
      </div>
      {found.value !== undefined ? (
        <Shown of={found.value} onOlder={older} />
      ) : (
        problem.value === undefined && <Waiting />
      )}
    </>
  )
}

interface ShownProps {
  readonly of: Found
  readonly onOlder: (of: Found) => Promise<void>
}

const Shown = ({ of, onOlder }: ShownProps) => {
  const { budget, expiresAt } = of.key
  const used = of.days.reduce((sum, { credits }) => sum + credits, 0)
  return (
    <>
      <section class="card" aria-labelledby="by-day">
        <h2 id="by-day">Last 30 days</h2>
        <Facts
          of={[
            { name: "Credits available", value: number(credits.value ?? 0) },
            { name: "Credits charged", value: number(used) },
            {
              name: "Budget of this key",
              value: budget === null ? "none" : number(budget.remaining),
              hint:
                budget === null ? "Limited only by the account's credits." : <Left of={budget} />,
            },
            { name: "This key expires", value: expiresAt?.slice(0, 10) ?? "never" },
          ]}
        />
        <UsageChart rows={of.days} />
      </section>
      <Table
        title="By key"
        file="usage-by-key"
        empty="Nothing was used in the last 30 days."
        rows={of.keys}
        keyOf={({ key }) => key?.id ?? ""}
        columns={keyColumns(of.key.id)}
      />
      <Table
        title="Statement"
        file="statement"
        empty="The account has no entry yet."
        rows={of.entries}
        keyOf={({ sequence }) => sequence}
        columns={entryColumns}
        foot={
          (of.entries.at(-1)?.sequence ?? 1) > 1 && (
            <button type="button" class="quiet" onClick={() => void onOlder(of)}>
              Older
            </button>
          )
        }
      />
    </>
  )
}

const Left = ({ of: { credits, period, resetsAt, used } }: { readonly of: Budget }) => (
  <>
    <Used used={used} of={credits} unit={period === "total" ? "in all" : `a ${period}`} />
    {resetsAt !== null && ` until ${minute(resetsAt)} UTC`}
  </>
)

const keyColumns = (own: string): ReadonlyArray<Column<UsageRow>> => [
  text(
    "Key",
    ({ key }) => key?.label ?? key?.id ?? "not named",
    ({ key }) => (
      <>
        {key?.label ?? <code>{key?.id ?? "not named"}</code>}
        {key?.id === own && <span class="chip">this key</span>}
      </>
    ),
  ),
  num("Credits", ({ credits }) => credits),
  num("Checks", ({ checks }) => checks),
  num("From cache", ({ known }) => known),
  num("Failed", ({ failed }) => Object.values(failed).reduce((sum, n) => sum + n, 0)),
]

const entryColumns: ReadonlyArray<Column<StatementEntry>> = [
  when("Time", ({ at }) => at),
  text("Kind", ({ kind }) => kind),
  num("Credits", ({ amount }) => amount),
  num("Balance", ({ balanceAfter }) => balanceAfter),
  num("Checks", ({ urls }) => urls),
  words("Request id", ({ requestId }) => requestId),
]
