import { useSignal } from "@preact/signals"
import { Ask, Field, Used } from "../Parts.tsx"
import { type Column, num, Table, text, when, words } from "../Table.tsx"
import type { AdminApi, Budget, Key, UsageRow } from "./AdminApi.ts"
import { change, isBusy, newKeys } from "./OperatorState.ts"

interface Props {
  readonly name: string
  readonly keys: ReadonlyArray<Key>
  /** What each key has used recently. */
  readonly usage: ReadonlyArray<UsageRow>
}

/** Shows the keys of a customer, with their budgets and what each has spent recently. */
export const Keys = ({ keys, name, usage }: Props) => {
  const changed = useSignal<Key | undefined>(undefined)
  const spent = new Map(usage.map(({ credits, key }) => [key?.id, credits]))
  const columns: ReadonlyArray<Column<Key>> = [
    text("Key", ({ start }) => start, nameOf),
    words("Label", ({ label }) => label),
    num("Spent in 7 days", ({ id }) => spent.get(id) ?? 0),
    text("Budget", ({ budget }) => textOf(budget), budgetOf),
    text("Scopes", ({ scopes }) => scopes.join(", ")),
    when("Last use", ({ lastUsedAt }) => lastUsedAt),
    when("Expires", ({ expiresAt }) => expiresAt),
    text(
      "Acts",
      ({ state }) => state,
      (key) => key.state === "active" && <Acts of={key} onChange={() => (changed.value = key)} />,
    ),
  ]
  return (
    <Table
      title="Keys"
      file={`keys-${name}`}
      empty="This customer has no key yet."
      rows={keys}
      keyOf={({ id }) => id}
      columns={columns}
      foot={
        <>
          {changed.value !== undefined && (
            <ChangeKey
              key={changed.value.id}
              of={changed.value}
              onEnd={() => (changed.value = undefined)}
            />
          )}
          <CreateKey account={name} />
        </>
      }
    />
  )
}

const nameOf = ({ start, state }: Key) => (
  <>
    <code>{start}…</code>
    {state !== "active" && <span class="chip bad">{state}</span>}
  </>
)

const budgetOf = ({ budget }: Key) => {
  if (budget === null) return <span class="hint">none</span>
  const { credits, period, used } = budget
  return <Used used={used} of={credits} unit={period === "total" ? "in all" : `a ${period}`} />
}

const Acts = (props: { readonly of: Key; readonly onChange: () => void }) => {
  const { id, start } = props.of
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
        onAct={() => void changeAndShow((api) => api.rotate(id))}
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

interface NewKey {
  /** Null if the service does not reveal the secret again. */
  readonly key: string | null
  readonly account: string
}

/** Makes a key, and shows its secret. */
const changeAndShow = (make: (api: AdminApi) => Promise<NewKey>) =>
  change(async (api) => {
    const { account, key } = await make(api)
    if (key !== null) newKeys.value = [{ key, account }, ...newKeys.value]
  })

const scopeSets = { "check and read": ["check", "read"], check: ["check"], read: ["read"] } as const

/** The terms of a key that can be changed later, as typed. */
const useTerms = (key?: Key) => ({
  label: useSignal(key?.label ?? ""),
  budget: useSignal(textOf(key?.budget ?? null)),
  scopes: useSignal(scopesOf(key?.scopes ?? scopeSets["check and read"])),
})

const textOf = (budget: Budget | null) =>
  budget === null ? "" : `${budget.credits}/${budget.period}`

const scopesOf = (scopes: ReadonlyArray<string>): keyof typeof scopeSets => {
  if (scopes.includes("check")) return scopes.includes("read") ? "check and read" : "check"
  return "read"
}

const ChangeKey = (props: { readonly of: Key; readonly onEnd: () => void }) => {
  const { budget, id, label, scopes, start } = props.of
  const terms = useTerms(props.of)
  const submit = async (event: Event) => {
    event.preventDefault()
    const given = { label: terms.label.value.trim(), budget: terms.budget.value.trim() }
    // Send only what has changed, so that the audit log names nothing else.
    const changes = {
      ...(given.label !== (label ?? "") && { label: given.label || null }),
      ...(given.budget !== textOf(budget) && { budget: given.budget || null }),
      ...(terms.scopes.value !== scopesOf(scopes) && { scopes: scopeSets[terms.scopes.value] }),
    }
    const isNothing = Object.keys(changes).length === 0
    if (isNothing || (await change((api) => api.updateKey(id, changes)))) props.onEnd()
  }
  return (
    <form class="fields" aria-label={`Change ${start}…`} onSubmit={(event) => void submit(event)}>
      <Terms terms={terms} isFirst />
      <button type="submit" aria-disabled={isBusy.value}>
        Save {start}…
      </button>
      <button type="button" class="small quiet" onClick={props.onEnd}>
        Cancel
      </button>
    </form>
  )
}

const CreateKey = ({ account }: { readonly account: string }) => {
  const terms = useTerms()
  const expiresIn = useSignal("")
  const submit = (event: Event) => {
    event.preventDefault()
    const given = Object.entries({
      label: terms.label.value.trim(),
      budget: terms.budget.value.trim(),
      expiresIn: expiresIn.value.trim(),
    }).filter(([, value]) => value !== "")
    const wanted = { ...Object.fromEntries(given), scopes: scopeSets[terms.scopes.value] }
    void changeAndShow((api) => api.createKey(account, wanted))
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

interface TermsProps {
  readonly terms: ReturnType<typeof useTerms>
  readonly isFirst?: boolean
}

const Terms = ({ isFirst = false, terms }: TermsProps) => (
  <>
    <Field name="Label" value={terms.label} isFirst={isFirst} hint="rank tracker" />
    <Field name="Budget" value={terms.budget} hint="500/day" pattern="\d+/(day|month|total)" />
    <label>
      Scopes
      <select
        value={terms.scopes.value}
        onChange={(event) => (terms.scopes.value = scopesOf(event.currentTarget.value.split(" ")))}
      >
        {Object.keys(scopeSets).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  </>
)
