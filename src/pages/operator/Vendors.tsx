import { DayChart, daysAgo } from "../DayChart.tsx"
import { Used } from "../Parts.tsx"
import { type Column, num, Table, text, when, words } from "../Table.tsx"
import type { CostRow, Overview, Provider, Vendor } from "./AdminApi.ts"
import { useRead } from "./OperatorState.ts"
import { amount, type Money, moneyIn, Page } from "./Parts.tsx"

/** Shows each vendor's state, its own count beside ours, and what was bought from it by day. */
export const Vendors = () => {
  const found = useRead("vendors", (api) =>
    Promise.all([api.overview(), api.providers(), api.report(daysAgo(29))]),
  )
  const [overview, states, report] = found ?? []
  const money = moneyIn(overview?.currency ?? "USD")
  return (
    <Page title="Vendors">
      <VendorTable
        vendors={overview?.vendors}
        money={money}
        more={countColumns(states?.providers ?? [])}
      />
      <ErrorTable errors={overview?.errors} />
      {overview !== undefined && report !== undefined && (
        <section class="card" aria-labelledby="cost-title">
          <h2 id="cost-title">Cost by day</h2>
          <CostChart overview={overview} rows={report.rows.filter(isBought)} />
        </section>
      )}
      <Table
        title="Calls and cost by day"
        file="vendor-calls"
        empty="Nothing was bought in the last 30 days."
        first={15}
        rows={report?.rows.filter(isBought).toReversed()}
        keyOf={({ day, provider }) => `${day} ${provider}`}
        columns={callColumns(money)}
      />
    </Page>
  )
}

type Bought = Extract<CostRow, { readonly provider: string }>
const isBought = (row: CostRow): row is Bought => row.provider !== null

interface CostProps {
  readonly overview: Overview
  readonly rows: ReadonlyArray<Bought>
}

const CostChart = ({ overview, rows }: CostProps) => {
  const money = moneyIn(overview.currency)
  const days = overview.days.map(({ day }) => day)
  const vendors = [...new Set(rows.map(({ provider }) => provider))]
  const series = vendors.map((name, i) => ({
    name,
    tone: `vendor-${i}`,
    values: days.map(
      (day) => rows.find((row) => row.day === day && row.provider === name)?.cost ?? null,
    ),
  }))
  const panel = { name: "Cost", series, format: money.full, tick: money.short, least: 1 }
  return <DayChart label="Vendors' cost by UTC day" days={days} panels={[panel]} />
}

const callColumns = (money: Money): ReadonlyArray<Column<Bought>> => [
  when("Day", ({ day }) => day),
  text("Vendor", ({ provider }) => provider),
  num("Calls", ({ calls }) => calls),
  num("Rows", ({ rows }) => rows),
  num("Failed", ({ failed }) => failed),
  num("No answer", ({ unanswered }) => unanswered),
  amount(money, "Cost", ({ cost }) => cost),
]

const countColumns = (states: ReadonlyArray<Provider>): ReadonlyArray<Column<Vendor>> => {
  const of = ({ provider }: Vendor) => states.find((state) => state.provider === provider)
  return [
    text("Index", (vendor) => of(vendor)?.index),
    num("Our rows", ({ month }) => month.rows),
    num("No answer", ({ month }) => month.unanswered),
    num("A call, ms", (vendor) => Math.round(of(vendor)?.latencyMs ?? 0) || null),
  ]
}

interface Props {
  readonly vendors: ReadonlyArray<Vendor> | undefined
  readonly money: Money
  readonly more?: ReadonlyArray<Column<Vendor>>
}

export const VendorTable = ({ money, more = [], vendors }: Props) => (
  <Table
    title="This month"
    file="vendors"
    empty="No vendor has a state to show."
    rows={vendors}
    keyOf={({ provider }) => provider}
    columns={[...vendorColumns(money), ...more]}
  />
)

const vendorColumns = (money: Money): ReadonlyArray<Column<Vendor>> => [
  text("Vendor", ({ provider }) => provider),
  text("State", stateOf, (vendor) => <State of={vendor} />),
  text("Quota used", ({ quota }) => quota && quota.allotted - quota.left, quotaOf),
  text("Ceiling used", ({ ceiling }) => ceiling, ceilingOf),
  amount(money, "Cost", ({ month }) => month.cost),
]

const quotaOf = ({ error, quota }: Vendor) =>
  quota === null ? (
    <span class="hint">{error ?? "not reported"}</span>
  ) : (
    <Used used={quota.allotted - quota.left} of={quota.allotted} unit={quota.unit} />
  )

const ceilingOf = ({ ceiling, month }: Vendor) =>
  ceiling === null ? (
    <span class="hint">none</span>
  ) : (
    <Used used={month.rows} of={ceiling} unit="rows" />
  )

const stateOf = ({ circuit, reason }: Vendor) =>
  circuit !== "closed" ? circuit : reason === null ? "working" : "paused"

const State = ({ of }: { readonly of: Vendor }) => (
  <>
    <span class={`chip ${stateOf(of) === "working" ? "good" : "bad"}`}>{stateOf(of)}</span>
    {of.reason !== null && <div class="hint words">{of.reason}</div>}
  </>
)

export const ErrorTable = ({ errors }: { readonly errors: Overview["errors"] | undefined }) => (
  <Table
    title="Last failed calls"
    file="vendor-errors"
    empty="No call has failed since the process started."
    rows={errors}
    keyOf={({ at, provider }) => `${at} ${provider}`}
    columns={errorColumns}
  />
)

const errorColumns: ReadonlyArray<Column<Overview["errors"][number]>> = [
  when("Time", ({ at }) => at),
  text("Vendor", ({ provider }) => provider),
  words("Message", ({ message }) => message),
]
