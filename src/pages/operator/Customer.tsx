import { useSignal } from "@preact/signals"
import { daysAgo, UsageChart } from "../DayChart.tsx"
import { Ask, Facts, Field, focus, Waiting } from "../Parts.tsx"
import { type Column, num, Table, text, when, words } from "../Table.tsx"
import { number } from "../Texts.ts"
import type { Account, Entry } from "./AdminApi.ts"
import { Keys } from "./Keys.tsx"
import { change, isBusy, newKeys, useOrder, usePages, useRead } from "./OperatorState.ts"
import { More, Page } from "./Parts.tsx"

/** Shows one customer: its credits, keys, usage and statement. */
export const Customer = ({ name }: { readonly name: string }) => {
  const found = useRead(`customer ${name}`, async (api) => {
    const [{ account }, keys, days, byKey] = await Promise.all([
      api.account(name),
      api.keys(name),
      api.usage("day", daysAgo(29), name),
      api.usage("key", daysAgo(6), name),
    ])
    return { account, keys, days: days.rows, byKey: byKey.rows }
  })
  const title = (
    <>
      <a class="up" href="#/customers">
        Customers
      </a>{" "}
      {name}
      {found?.account.suspended === true && <span class="chip bad">suspended</span>}
    </>
  )
  return (
    <Page title={title} acts={found && <Suspend key={name} of={found.account} />}>
      {newKeys.value.map(
        ({ account, key }) => account === name && <Secret key={key} secret={key} />,
      )}
      {found === undefined ? (
        <Waiting />
      ) : (
        <>
          <Balance key={`${name}-credits`} of={found.account} />
          <Keys key={`${name}-keys`} name={name} keys={found.keys} usage={found.byKey} />
          <section class="card" aria-labelledby="usage-title">
            <h2 id="usage-title">Usage by day</h2>
            <UsageChart rows={found.days} />
          </section>
        </>
      )}
      <Statement key={`${name}-statement`} name={name} />
    </Page>
  )
}

const Secret = ({ secret }: { readonly secret: string }) => (
  // The notice takes the focus, because the page may be scrolled far below it.
  <div class="notice" role="status" tabIndex={-1} ref={focus}>
    <p>This key is shown once. Copy it now.</p>
    <p>
      <code>{secret}</code>
    </p>
    <button
      type="button"
      onClick={() => (newKeys.value = newKeys.value.filter(({ key }) => key !== secret))}
    >
      I have copied it
    </button>
  </div>
)

const Suspend = ({ of: { name, suspended } }: { readonly of: Account }) => {
  const suspend = (suspended: boolean) => void change((api) => api.suspend(name, suspended))
  return suspended ? (
    <button type="button" aria-disabled={isBusy} onClick={() => suspend(false)}>
      Resume
    </button>
  ) : (
    <Ask
      name="Suspend"
      question={`Every request of ${name} gets 403.`}
      act={`Suspend ${name}`}
      isDisabled={isBusy}
      onAct={() => suspend(true)}
    />
  )
}

const Balance = ({ of }: { readonly of: Account }) => (
  <section class="card" aria-labelledby="credits-title">
    <h2 id="credits-title">Credits</h2>
    <Facts
      of={(["available", "held", "granted", "charged"] as const).map((name) => ({
        name: name.charAt(0).toUpperCase() + name.slice(1),
        value: number(of[name]),
      }))}
    />
    <div class="halves">
      <ChangeCredits name={of.name} act="Grant" />
      <ChangeCredits name={of.name} act="Correct" />
    </div>
  </section>
)

const ChangeCredits = ({
  act,
  name,
}: {
  readonly name: string
  readonly act: "Grant" | "Correct"
}) => {
  const amount = useSignal("")
  const note = useSignal("")
  const order = useOrder(amount.value, note.value)
  const isGrant = act === "Grant"
  const submit = async (event: Event) => {
    event.preventDefault()
    const credits = isGrant ? Number(amount.value) : -Number(amount.value)
    const text = note.value.trim()
    if (!(await change((api) => api.changeCredits(name, credits, text, order)))) return
    amount.value = ""
    note.value = ""
  }
  return (
    <form class="fields" aria-label={`${act} credits`} onSubmit={(event) => void submit(event)}>
      <Field
        name={isGrant ? "Credits to grant" : "Credits to take back"}
        value={amount}
        isRequired
        min={1}
      />
      <Field
        name="Note"
        value={note}
        isRequired={!isGrant}
        hint={isGrant ? "invoice 17" : "granted twice"}
      />
      <button type="submit" class={isGrant ? "primary" : ""} aria-disabled={isBusy}>
        {act}
      </button>
    </form>
  )
}

const Statement = ({ name }: { readonly name: string }) => {
  const { more, rows } = usePages(`statement ${name}`, async (api, before) => {
    const { entries } = await api.statement(name, before)
    return entries
  })
  return (
    <Table
      title="Statement"
      file={`statement-${name}`}
      empty="The ledger has no entry of this customer."
      rows={rows}
      keyOf={({ sequence }) => sequence}
      columns={entryColumns}
      foot={<More act={more} />}
    />
  )
}

const entryColumns: ReadonlyArray<Column<Entry>> = [
  when("Time", ({ at }) => at),
  text("Kind", ({ kind }) => kind),
  num("Amount", ({ amount }) => amount),
  num("Balance", ({ balanceAfter }) => balanceAfter),
  words("Request or note", ({ note, requestId }) => requestId ?? note),
]
