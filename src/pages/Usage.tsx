/** What the account of the entered key used, for whoever holds the key. */
import { batch, signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import {
  isClientError,
  type Key,
  type StatementEntry,
  type UsageRow,
} from "../client/PromiseClient.ts"
import type { Budget } from "../contract/Wire.ts"
import { account, client, credits, key, refreshCredits } from "./Account.ts"
import { UsageChart } from "./DayChart.tsx"
import { Entry } from "./console/KeyPanel.tsx"
import { Facts, Used, Waiting } from "./Parts.tsx"
import { type Column, num, Table, text, when, words } from "./Table.tsx"
import { number } from "./Texts.ts"

interface Found {
  readonly key: Key
  readonly days: ReadonlyArray<UsageRow>
  readonly keys: ReadonlyArray<UsageRow>
  readonly entries: ReadonlyArray<StatementEntry>
}

const found = signal<Found | undefined>(undefined)
const problem = signal<string | undefined>(undefined)

const dayMs = 86_400_000
const pageRows = 100

const read = async (apiKey: string) => {
  const asking = client({ apiKey, timeoutMs: 20_000, patienceMs: 0 })
  const since = new Date(Date.now() - 29 * dayMs)
  try {
    const [own, days, keys, { entries }] = await Promise.all([
      asking.key(),
      asking.usage({ since }),
      asking.usage({ since, by: "key" }),
      asking.statement({ limit: pageRows }),
    ])
    // Another key may have been entered meanwhile.
    if (key.value === apiKey)
      batch(() => {
        problem.value = undefined
        found.value = { key: own, days: days.rows, keys: keys.rows, entries }
      })
  } catch (error) {
    if (!isClientError(error)) throw error
    if (key.value === apiKey) problem.value = error.message
  }
}

const older = async (apiKey: string, { entries, ...rest }: Found) => {
  const before = entries.at(-1)?.sequence
  const page = await client({ apiKey }).statement({ limit: pageRows, before })
  if (key.value === apiKey) found.value = { ...rest, entries: [...entries, ...page.entries] }
}

export const Usage = () => {
  const entered = key.value
  useEffect(() => {
    found.value = undefined
    problem.value = undefined
    if (entered !== undefined) void read(entered)
  }, [entered])
  return (
    <main class="page">
      <div class="line title">
        <h1>Usage{account.value !== undefined && ` of ${account.value}`}</h1>
        {entered !== undefined && (
          <button
            type="button"
            class="quiet"
            onClick={() => void Promise.all([read(entered), refreshCredits()])}
          >
            Refresh
          </button>
        )}
      </div>
      <div role="alert">
        {problem.value !== undefined && <p class="notice stop">{problem.value}</p>}
      </div>
      {entered === undefined ? (
        <>
          <p class="hint">Enter your key, to see what its account used.</p>
          <Entry />
        </>
      ) : found.value === undefined ? (
        problem.value === undefined && <Waiting />
      ) : (
        <Shown apiKey={entered} of={found.value} />
      )}
    </main>
  )
}

const Shown = ({ apiKey, of }: { readonly apiKey: string; readonly of: Found }) => {
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
              hint: budget === null ? "The account's credits limit it." : <Left of={budget} />,
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
            <button type="button" class="quiet" onClick={() => void older(apiKey, of)}>
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
    {resetsAt !== null && ` until ${resetsAt.slice(0, 16).replace("T", " ")} UTC`}
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
