import { useSignal } from "@preact/signals"
import { maxRows } from "../../contract/Limits.ts"
import { counted } from "../../contract/counted.ts"
import { daysAgo } from "../DayChart.tsx"
import { Field } from "../Parts.tsx"
import { type Column, num, Table } from "../Table.tsx"
import { number } from "../Texts.ts"
import type { Account } from "./AdminApi.ts"
import { change, customerPage, isBusy, useOrder, useRead, useTyped } from "./OperatorState.ts"
import { customerColumn, Page } from "./Parts.tsx"

/** Shows the customers, which are the service's accounts, and who spent most. */
export const Customers = () => {
  const search = useTyped()
  const isNew = useSignal(false)
  const found = useRead(
    "customers",
    async (api) => {
      const [{ accounts }, usage] = await Promise.all([
        api.accounts(search.settled),
        api.usage("account", daysAgo(6)),
      ])
      const spent = new Map(usage.rows.map(({ account = "", credits }) => [account, credits]))
      return accounts
        .map((account) => ({ ...account, spent: spent.get(account.name) ?? 0 }))
        .sort((a, b) => b.spent - a.spent)
    },
    search.settled,
  )
  return (
    <Page
      title="Customers"
      acts={
        !isNew.value && (
          <button type="button" class="primary" onClick={() => (isNew.value = true)}>
            New customer
          </button>
        )
      }
    >
      {isNew.value && <NewCustomer onEnd={() => (isNew.value = false)} />}
      <Table
        title="Most spent first"
        file="customers"
        empty="No customer was found."
        rows={found}
        keyOf={({ id }) => id}
        columns={columns}
        foot={
          found?.length === maxRows && (
            <p class="hint">
              These are the newest {number(maxRows)} customers. Search for older ones.
            </p>
          )
        }
      >
        <div class="search">
          <label class="unseen" for="search">
            Search by name, key label or start of a key
          </label>
          <input
            id="search"
            type="search"
            placeholder="Name, key label or start of a key"
            value={search.typed.value}
            onInput={(event) => (search.typed.value = event.currentTarget.value)}
          />
          <span class="hint" role="status">
            {found !== undefined && found.length > 0 && counted(found.length, "customer")}
          </span>
        </div>
      </Table>
    </Page>
  )
}

type Row = Account & { readonly spent: number }

const columns: ReadonlyArray<Column<Row>> = [
  customerColumn(
    ({ name }) => name,
    ({ suspended }) => suspended,
  ),
  num("Spent in 7 days", ({ spent }) => spent),
  num("Available", ({ available }) => available),
  num("Held", ({ held }) => held),
  num("Charged", ({ charged }) => charged),
]

const NewCustomer = ({ onEnd }: { readonly onEnd: () => void }) => {
  const name = useSignal("")
  const credits = useSignal("0")
  const order = useOrder(name.value, credits.value)
  const submit = async (event: Event) => {
    event.preventDefault()
    const made = name.value.trim()
    if (await change((api) => api.createAccount(made, Number(credits.value), order)))
      location.hash = customerPage(made)
  }
  return (
    <section class="card" aria-labelledby="new-title">
      <h2 id="new-title">New customer</h2>
      <form class="fields" onSubmit={(event) => void submit(event)}>
        <Field name="Name" value={name} isRequired isFirst />
        <Field name="Credits" value={credits} isRequired min={0} />
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Create
        </button>
        <button type="button" class="quiet" onClick={onEnd}>
          Cancel
        </button>
      </form>
    </section>
  )
}
