import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { Ask } from "../Ask.tsx"
import { number } from "../Texts.ts"
import type { Budget, Key } from "./AdminApi.ts"
import { Field } from "./Field.tsx"
import { act, change, isBusy, type Opened, refresh, showKey } from "./OperatorState.ts"
import { shortTime } from "./shortTime.ts"
import { Table } from "./Table.tsx"

/** Browsers need a second to draw thousands of rows, after each act. */
const firstKeys = 100

/** The keys of an account, with budgets and what each spent lately. */
export const Keys = ({ opened: { account, keys, spentByKey } }: { readonly opened: Opened }) => {
  const changed = useSignal<Key | undefined>(undefined)
  const isWhole = useSignal(false)
  const shown = isWhole.value ? keys : keys.slice(0, firstKeys)
  return (
    <>
      <h3>Keys</h3>
      <Table
        label="Keys, newest first"
        titles={[
          "Key",
          "Label",
          "Spent in 7 days",
          "Budget",
          "Scopes",
          "Last use",
          "Expires",
          "Acts",
        ]}
        numbers={["Spent in 7 days"]}
      >
        {shown.map((key) => (
          <tr key={key.id}>
            <th scope="row">
              <code>{key.start}…</code>
              {key.state !== "active" && <span class="badge">{key.state}</span>}
            </th>
            <td>
              <div class="words">{key.label}</div>
            </td>
            <td class="num">{number(spentByKey.get(key.id) ?? 0)}</td>
            <td>{key.budget === null ? "none" : <Used budget={key.budget} />}</td>
            <td>{key.scopes.join(", ")}</td>
            <td class="when">{key.lastUsedAt === null ? "never" : shortTime(key.lastUsedAt)}</td>
            <td class="when">{key.expiresAt === null ? "never" : shortTime(key.expiresAt)}</td>
            <td>
              {key.state === "active" && <Acts of={key} onChange={() => (changed.value = key)} />}
            </td>
          </tr>
        ))}
      </Table>
      {shown.length < keys.length && (
        <button type="button" class="quiet" onClick={() => (isWhole.value = true)}>
          Show all {number(keys.length)} keys
        </button>
      )}
      {changed.value !== undefined && (
        <ChangeKey
          key={changed.value.id}
          of={changed.value}
          onEnd={() => (changed.value = undefined)}
        />
      )}
      <NewKey account={account.name} />
    </>
  )
}

const Used = ({ budget: { credits, period, used } }: { readonly budget: Budget }) => (
  <>
    <meter min={0} max={credits} value={used} high={credits * 0.9} aria-hidden="true" />{" "}
    {number(used)} of {number(credits)} {period === "total" ? "in all" : `a ${period}`}
  </>
)

const Acts = (props: { readonly of: Key; readonly onChange: () => void }) => {
  const { id, start } = props.of
  const rotate = () =>
    act(async (api) => {
      const { account, key } = await api.rotate(id)
      showKey(account, key)
      await refresh(api)
    })
  return (
    <div class="ask">
      <button type="button" class="small quiet" onClick={props.onChange}>
        Change<span class="unseen"> {start}…</span>
      </button>
      <Ask
        name="Rotate"
        of={`${start}…`}
        act="Rotate: the old key ends in 24 h"
        isDisabled={isBusy}
        onAct={() => void rotate()}
      />
      <Ask
        name="Revoke"
        of={`${start}…`}
        act={`Revoke ${start}… now`}
        isDisabled={isBusy}
        onAct={() => void change((api) => api.revoke(id))}
      />
    </div>
  )
}

const scopeSets = { "check and read": ["check", "read"], check: ["check"], read: ["read"] } as const

/** What can be changed of a key later, as typed. */
const useTerms = (key?: Key) => ({
  label: useSignal(key?.label ?? ""),
  budget: useSignal(textOf(key?.budget ?? null)),
  scopes: useSignal(nameOf(key?.scopes ?? scopeSets["check and read"])),
})

const textOf = (budget: Budget | null) =>
  budget === null ? "" : `${budget.credits}/${budget.period}`

const nameOf = (scopes: ReadonlyArray<string>): keyof typeof scopeSets => {
  if (scopes.includes("check")) return scopes.includes("read") ? "check and read" : "check"
  return "read"
}

const ChangeKey = (props: { readonly of: Key; readonly onEnd: () => void }) => {
  const { budget, id, label, scopes, start } = props.of
  const terms = useTerms(props.of)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector("input")?.focus(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    const given = { label: terms.label.value.trim(), budget: terms.budget.value.trim() }
    // What is sent is what changed, so that the audit log names nothing else.
    const changes = {
      ...(given.label !== (label ?? "") && { label: given.label || null }),
      ...(given.budget !== textOf(budget) && { budget: given.budget || null }),
      ...(terms.scopes.value !== nameOf(scopes) && { scopes: scopeSets[terms.scopes.value] }),
    }
    const isNothing = Object.keys(changes).length === 0
    if (isNothing || (await change((api) => api.updateKey(id, changes)))) props.onEnd()
  }
  return (
    <form
      ref={form}
      class="fields"
      aria-label={`Change ${start}…`}
      onSubmit={(event) => void submit(event)}
    >
      <Terms terms={terms} />
      <button type="submit" aria-disabled={isBusy.value}>
        Save {start}…
      </button>
      <button type="button" class="small quiet" onClick={props.onEnd}>
        Cancel
      </button>
    </form>
  )
}

const NewKey = ({ account }: { readonly account: string }) => {
  const terms = useTerms()
  const expiresIn = useSignal("")
  const submit = (event: Event) => {
    event.preventDefault()
    const given = Object.entries({
      label: terms.label.value.trim(),
      budget: terms.budget.value.trim(),
      expiresIn: expiresIn.value.trim(),
    }).filter(([, value]) => value !== "")
    void act(async (api) => {
      const wanted = { ...Object.fromEntries(given), scopes: scopeSets[terms.scopes.value] }
      const { key } = await api.createKey(account, wanted)
      showKey(account, key)
      await refresh(api)
    })
  }
  return (
    <details>
      <summary>New key</summary>
      <form class="fields" onSubmit={submit}>
        <Terms terms={terms} />
        <Field name="Expires in" value={expiresIn} hint="90d" pattern="\d+(ms|s|m|h|d)" />
        <button type="submit" aria-disabled={isBusy.value}>
          Create
        </button>
      </form>
    </details>
  )
}

const Terms = ({ terms }: { readonly terms: ReturnType<typeof useTerms> }) => (
  <>
    <Field name="Label" value={terms.label} hint="rank tracker" />
    <Field name="Budget" value={terms.budget} hint="500/day" pattern="\d+/(day|month|total)" />
    <label>
      Scopes
      <select
        value={terms.scopes.value}
        onChange={(event) => (terms.scopes.value = nameOf(event.currentTarget.value.split(" ")))}
      >
        {Object.keys(scopeSets).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  </>
)
