import { counted } from "../../contract/counted.ts"
import { creditPanel, DayChart, type Panel } from "../DayChart.tsx"
import { Facts, Waiting } from "../Parts.tsx"
import { type Column, num, Table, when } from "../Table.tsx"
import { number } from "../Texts.ts"
import type { Overview as Answer } from "./AdminApi.ts"
import { useRead } from "./OperatorState.ts"
import { amount, customerColumn, type Money, moneyIn, Page } from "./Parts.tsx"
import { ErrorTable, VendorTable } from "./Vendors.tsx"

/** Shows the service at a glance: what was sold, what it cost, and what needs attention. */
export const Overview = () => {
  const overview = useRead("overview", (api) => api.overview())
  return (
    <Page title="Overview">{overview === undefined ? <Waiting /> : <Glance of={overview} />}</Page>
  )
}

const Glance = ({
  of: { creditValue, currency, days, errors, runningOut, sums, vendors },
}: {
  readonly of: Answer
}) => {
  const money = moneyIn(currency)
  const rows = days.map((day) => ({ ...day, ...earned(day, creditValue) }))
  const { margin, revenue } = earned(sums, creditValue)
  const known = `${counted(sums.answeredFromCache, "check")} from the cache`
  return (
    <>
      <section class="card" aria-labelledby="sales-title">
        <h2 id="sales-title">Last 30 days</h2>
        <Facts
          of={[
            ...(revenue === null ? [] : [{ name: "Revenue", value: money.full(revenue) }]),
            { name: "Vendors’ cost", value: money.full(sums.cost) },
            ...(revenue === null
              ? []
              : [{ name: "Margin", value: money.full(margin), hint: partOf(margin, revenue) }]),
            { name: "Credits charged", value: number(sums.creditsCharged), hint: known },
          ]}
        />
        <DayChart
          label="Sales and cost by UTC day"
          days={days.map(({ day }) => day)}
          panels={panelsOf(rows, money)}
        />
        {creditValue === null && (
          <p class="hint">
            Set AUTHORITY_CREDIT_VALUE to what a customer pays for one credit, to see revenue and
            margin.
          </p>
        )}
      </section>
      <div class="halves">
        <Table
          title="About to run out"
          file="running-out"
          empty="Every customer has credits for another week."
          rows={runningOut}
          keyOf={({ account }) => account}
          columns={runningOutColumns}
        />
        <ErrorTable errors={errors} />
      </div>
      <VendorTable vendors={vendors} money={money} />
      <Table
        title="By day"
        file="sales"
        empty="Nothing was sold."
        first={7}
        rows={rows.toReversed()}
        keyOf={({ day }) => day}
        columns={[...dayColumns(money), ...(revenue === null ? [] : earnedColumns(money))]}
      />
    </>
  )
}

interface Day {
  readonly creditsCharged: number
  readonly cost: number | null
}

interface Earned {
  readonly revenue: number | null
  readonly margin: number | null
}

const earned = ({ cost, creditsCharged }: Day, creditValue: number | null): Earned => {
  const revenue = creditValue === null ? null : creditsCharged * creditValue
  return { revenue, margin: revenue === null || cost === null ? null : revenue - cost }
}

const partOf = (margin: number | null, revenue: number) =>
  margin === null || revenue === 0
    ? undefined
    : `${Math.round((margin / revenue) * 100)} % of revenue`

type Row = Day & Earned & Pick<Answer["days"][number], "day" | "answeredFromCache">

const dayColumns = (money: Money): ReadonlyArray<Column<Row>> => [
  when("Day", ({ day }) => day),
  num("Credits charged", ({ creditsCharged }) => creditsCharged),
  num("From cache", ({ answeredFromCache }) => answeredFromCache),
  amount(money, "Cost", ({ cost }) => cost),
]

const earnedColumns = (money: Money): ReadonlyArray<Column<Row>> => [
  amount(money, "Revenue", ({ revenue }) => revenue),
  amount(money, "Margin", ({ margin }) => margin),
]

type RunningOut = Answer["runningOut"][number]

const daysLeft = ({ available, chargedLastWeek }: RunningOut) =>
  Math.floor((available / chargedLastWeek) * 7)

const runningOutColumns: ReadonlyArray<Column<RunningOut>> = [
  customerColumn(({ account }) => account),
  num("Credits left", ({ available }) => available),
  num("Charged in 7 days", ({ chargedLastWeek }) => chargedLastWeek),
  num("Lasts", daysLeft, (row) => (
    <span class={daysLeft(row) < 2 ? "chip bad" : "chip warn"}>{lasting(daysLeft(row))}</span>
  )),
]

const lasting = (days: number) => (days < 1 ? "under a day" : counted(days, "day"))

/** Shows money above credits if credits have a value, otherwise credits above money. */
const panelsOf = (rows: ReadonlyArray<Row>, money: Money): ReadonlyArray<Panel> => {
  const inMoney = { format: money.full, tick: money.short, least: 1 }
  const credits = creditPanel(rows.map(({ creditsCharged }) => creditsCharged))
  const cost = { name: "Vendors’ cost", tone: "cost", values: rows.map(({ cost }) => cost) }
  if (rows.every(({ revenue }) => revenue === null))
    return [credits, { ...inMoney, name: "Vendors’ cost", series: [cost] }]
  const margin = { name: "Margin", tone: "margin", values: rows.map(({ margin }) => margin) }
  return [{ ...inMoney, name: "Revenue: cost and margin", series: [cost, margin] }, credits]
}
