import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { counted } from "../../text/counted.ts"
import { Ask, focus } from "../Ask.tsx"
import { number } from "../Texts.ts"
import type { Entry, UsageRow } from "./AdminApi.ts"
import { Field } from "./Field.tsx"
import { Keys } from "./Keys.tsx"
import { change, isBusy, newKeys, type Opened } from "./OperatorState.ts"
import { shortTime } from "./shortTime.ts"
import { Table } from "./Table.tsx"
import { useOrder } from "./useOrder.ts"

/** One account: its credits, keys, usage and last entries. */
export const AccountPanel = ({ opened }: { readonly opened: Opened }) => {
  const { account, days, entries } = opened
  const { available, charged, granted, held, name, suspended } = account
  const title = useRef<HTMLHeadingElement>(null)
  // The list of accounts above may be longer than the window.
  useEffect(() => title.current?.focus(), [name])
  return (
    <section class="card" aria-labelledby="account-title">
      <div class="line">
        <h2 id="account-title" ref={title} tabIndex={-1}>
          {name}
          {suspended && <span class="badge">suspended</span>}
        </h2>
        <Suspend key={name} name={name} isSuspended={suspended} />
      </div>
      {newKeys.value.map(
        ({ account, key }) => account === name && <Secret key={key} secret={key} />,
      )}
      <dl class="facts" aria-live="polite" aria-atomic="true">
        {Object.entries({ available, held, granted, charged }).map(([fact, credits]) => (
          <div key={fact}>
            <dt>{fact}</dt>
            <dd>{number(credits)}</dd>
          </div>
        ))}
      </dl>
      <Credits key={`${name}-credits`} name={name} />
      <Keys key={`${name}-keys`} opened={opened} />
      <Days days={days} />
      <Statement entries={entries} />
    </section>
  )
}

const Secret = ({ secret }: { readonly secret: string }) => (
  // Focused, because the page may be scrolled far below it.
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

const Suspend = (props: { readonly name: string; readonly isSuspended: boolean }) => {
  const { isSuspended, name } = props
  const suspend = (suspended: boolean) => void change((api) => api.suspend(name, suspended))
  return isSuspended ? (
    <button type="button" aria-disabled={isBusy.value} onClick={() => suspend(false)}>
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

const Credits = ({ name }: { readonly name: string }) => {
  const amount = useSignal("")
  const note = useSignal("")
  const order = useOrder(amount.value, note.value)
  const isCorrection = Number(amount.value) < 0
  const submit = async (event: Event) => {
    event.preventDefault()
    const credits = Number(amount.value)
    const text = note.value.trim()
    if (!(await change((api) => api.changeCredits(name, credits, text, order)))) return
    amount.value = ""
    note.value = ""
  }
  return (
    <form class="fields" onSubmit={(event) => void submit(event)}>
      <Field name="Credits" value={amount} isNumber isRequired />
      <Field name="Note" value={note} isRequired={isCorrection} />
      <button type="submit" aria-disabled={isBusy.value}>
        {isCorrection ? "Correct" : "Grant"}
      </button>
      <p class="hint">A negative number takes a wrong grant back. It needs a note.</p>
    </form>
  )
}

const Days = ({ days }: { readonly days: ReadonlyArray<UsageRow> }) => {
  const most = Math.max(1, ...days.map(({ credits }) => credits))
  return (
    <>
      <h3>Usage by day</h3>
      {days.length === 0 ? (
        <p class="hint">Nothing was used in the last 30 days.</p>
      ) : (
        <ul class="days" aria-label="Credits by UTC day, in the last 30 days">
          {days.map(({ checks, credits, day = "" }) => (
            <li key={day} title={`${day}: ${counted(checks, "check")}`}>
              <span class="when">{day.slice(5)}</span>
              <meter min={0} max={most} value={credits} aria-hidden="true" />
              <span class="n">{number(credits)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const Statement = ({ entries }: { readonly entries: ReadonlyArray<Entry> }) => (
  <details>
    <summary>Last entries of the ledger</summary>
    <Table
      label="Entries, newest first"
      titles={["Time", "Kind", "Amount", "Balance", "Request or note"]}
      numbers={["Amount", "Balance"]}
    >
      {entries.map(({ amount, at, balanceAfter, kind, note, requestId, sequence }) => (
        <tr key={sequence}>
          <td class="when">{shortTime(at)}</td>
          <td>{kind}</td>
          <td class="num">{number(amount)}</td>
          <td class="num">{number(balanceAfter)}</td>
          <td>
            <div class="words">{requestId ?? note}</div>
          </td>
        </tr>
      ))}
    </Table>
  </details>
)
