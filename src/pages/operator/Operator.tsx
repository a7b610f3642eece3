/** The operator's part of the console, for services with an administration. */
import { useSignal } from "@preact/signals"
import { useRef } from "preact/hooks"
import { maxRows } from "../../contract/Limits.ts"
import { counted } from "../../text/counted.ts"
import { number } from "../Texts.ts"
import { AccountPanel } from "./AccountPanel.tsx"
import type { Account } from "./AdminApi.ts"
import { Field } from "./Field.tsx"
import {
  accounts,
  act,
  api,
  audit,
  change,
  isBusy,
  moreAudit,
  open,
  opened,
  problem,
  providers,
  refresh,
  search,
  signIn,
  signOut,
  spent,
} from "./OperatorState.ts"
import { Costs } from "./Costs.tsx"
import { shortTime } from "./shortTime.ts"
import { Table } from "./Table.tsx"
import { useOrder } from "./useOrder.ts"

export const Operator = () => (
  <main class="operator">
    <div class="store" role="alert">
      {problem.value !== undefined && <p class="notice">{problem.value}</p>}
    </div>
    {api.value === undefined ? <SignIn /> : <Desk />}
  </main>
)

const SignIn = () => {
  const token = useSignal("")
  const field = useRef<HTMLInputElement>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    await signIn(token.value.trim())
    field.current?.focus()
  }
  return (
    <section class="card" aria-labelledby="sign-in">
      <h2 id="sign-in">Administration</h2>
      <form class="sign-in" onSubmit={(event) => void submit(event)}>
        <label for="token">Token</label>
        <input
          ref={field}
          id="token"
          type="password"
          autocomplete="off"
          value={token.value}
          onInput={(event) => (token.value = event.currentTarget.value)}
        />
        <button
          type="submit"
          class="primary"
          aria-disabled={isBusy.value}
          disabled={token.value === ""}
        >
          Sign in
        </button>
        <p class="hint">
          The token is the service's setting AUTHORITY_ADMIN_TOKEN. It is lost when you close or
          reload this page.
        </p>
      </form>
    </section>
  )
}

const Desk = () => (
  <>
    <div class="line">
      <button type="button" aria-disabled={isBusy.value} onClick={() => void act(refresh)}>
        Refresh
      </button>
      <button
        type="button"
        class="quiet"
        aria-disabled={isBusy.value}
        onClick={() => void act(async () => signOut())}
      >
        Sign out
      </button>
      <p class="hint">Times and days are in UTC.</p>
    </div>
    <Accounts />
    {opened.value !== undefined && <AccountPanel opened={opened.value} />}
    <Providers />
    <Costs />
    <AuditLog />
  </>
)

const Accounts = () => {
  const find = (event: Event) => {
    event.preventDefault()
    void act(refresh)
  }
  // Who spent most comes first.
  const rows = [...accounts.value].sort(
    (a, b) => (spent.value.get(b.name) ?? 0) - (spent.value.get(a.name) ?? 0),
  )
  return (
    <section class="card" aria-labelledby="accounts-title">
      <h2 id="accounts-title">Accounts</h2>
      <form class="ask search" onSubmit={find}>
        <label class="unseen" for="search">
          Search by name, key label or start of a key
        </label>
        <input
          id="search"
          type="search"
          placeholder="Name, key label or start of a key"
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        <button type="submit" aria-disabled={isBusy.value}>
          Search
        </button>
      </form>
      <p class="hint" role="status">
        {rows.length > 0
          ? counted(rows.length, "account")
          : isBusy.value
            ? "One moment, please."
            : "No account was found."}
      </p>
      {rows.length > 0 && <AccountTable rows={rows} />}
      {rows.length === maxRows && (
        <p class="hint">These are the newest {number(maxRows)} accounts. Search for older ones.</p>
      )}
      <NewAccount />
    </section>
  )
}

const AccountTable = ({ rows }: { readonly rows: ReadonlyArray<Account> }) => (
  <Table label="Accounts, most spent first" titles={["Account", ...amounts]} numbers={amounts}>
    {rows.map(({ available, charged, held, id, name, suspended }) => (
      <tr key={id} aria-current={opened.value?.account.id === id}>
        <th scope="row">
          <button
            type="button"
            class="quiet"
            aria-disabled={isBusy}
            onClick={() => void open(name)}
          >
            {name}
          </button>
          {suspended && <span class="badge">suspended</span>}
        </th>
        <td class="num">{number(spent.value.get(name) ?? 0)}</td>
        <td class="num">{number(available)}</td>
        <td class="num">{number(held)}</td>
        <td class="num">{number(charged)}</td>
      </tr>
    ))}
  </Table>
)

const amounts = ["Spent in 7 days", "Available", "Held", "Charged"]

const NewAccount = () => {
  const name = useSignal("")
  const credits = useSignal("0")
  const order = useOrder(name.value, credits.value)
  const submit = async (event: Event) => {
    event.preventDefault()
    const made = name.value.trim()
    if (!(await change((api) => api.createAccount(made, Number(credits.value), order)))) return
    name.value = ""
    await open(made)
  }
  return (
    <details>
      <summary>New account</summary>
      <form class="fields" onSubmit={(event) => void submit(event)}>
        <Field name="Name" value={name} isRequired />
        <Field name="Credits" value={credits} isNumber isRequired min={0} />
        <button type="submit" aria-disabled={isBusy.value}>
          Create
        </button>
      </form>
    </details>
  )
}

const Providers = () => (
  <section class="card" aria-labelledby="providers-title">
    <h2 id="providers-title">Providers</h2>
    {providers.value.length === 0 && <p class="hint">No provider has a state to show.</p>}
    {providers.value.map((one) => (
      <div key={one.provider}>
        <h3>
          {one.provider}
          <span class={one.circuit === "closed" ? "chip" : "badge"}>
            {one.circuit === "closed" ? "working" : one.circuit}
          </span>
        </h3>
        <p class="hint">
          {[
            one.reason,
            one.quota &&
              `${number(one.quota.left)} of ${counted(one.quota.allotted, one.quota.unit, one.quota.unit)} left`,
            one.index && `index ${one.index}`,
            one.latencyMs !== null && `${number(Math.round(one.latencyMs))} ms a call`,
            one.callsInFlight !== null && `${counted(one.callsInFlight, "call")} in flight`,
            one.statusError,
          ]
            .filter((part) => typeof part === "string")
            .join(" · ")}
        </p>
        {one.errors.length > 0 && (
          <details>
            <summary>{counted(one.errors.length, "failed call")}</summary>
            <ul>
              {one.errors.map(({ at, message }, i) => (
                <li key={i}>
                  <span class="when">{shortTime(at)}</span> {message}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    ))}
  </section>
)

const AuditLog = () => (
  <section class="card" aria-labelledby="audit-title">
    <h2 id="audit-title">Audit log</h2>
    <Table label="Changes, newest first" titles={["Time", "Who", "Act", "Subject", "Detail"]}>
      {audit.value.map(({ action, actor, at, detail, sequence, subject }) => (
        <tr key={sequence}>
          <td class="when">{shortTime(at)}</td>
          <td>{actor}</td>
          <td>{action}</td>
          <td>{subject}</td>
          <td class="detail">
            {Object.entries(detail)
              .filter(([, value]) => value !== null)
              .map(([name, value]) => `${name}: ${value}`)
              .join(", ")}
          </td>
        </tr>
      ))}
    </Table>
    {(audit.value.at(-1)?.sequence ?? 1) > 1 && (
      <button
        type="button"
        class="quiet"
        aria-disabled={isBusy.value}
        onClick={() => void moreAudit()}
      >
        Older lines
      </button>
    )}
  </section>
)
