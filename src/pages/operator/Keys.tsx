import { type Signal, useSignal } from "@preact/signals"
import { number } from "../Texts.ts"
import type { Budget, Key } from "./AdminApi.ts"
import { act, change, isBusy, newKey, type Opened, refresh } from "./OperatorState.ts"
import { shortTime } from "./shortTime.ts"

/** The keys of an account, with budgets and what each spent lately. */
export const Keys = ({ opened: { account, keys, spentByKey } }: { readonly opened: Opened }) => (
  <>
    <h3>Keys</h3>
    <div class="scroll" tabIndex={0} role="group" aria-label="Keys, newest first">
      <table>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Label</th>
            <th scope="col" class="num">
              Spent in 7 days
            </th>
            <th scope="col">Budget</th>
            <th scope="col">Scopes</th>
            <th scope="col">Last use</th>
            <th scope="col">
              <span class="unseen">Acts</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                <code>{key.start}…</code>
                {key.state !== "active" && <span class="badge">{key.state}</span>}
              </th>
              <td>{key.label}</td>
              <td class="num">{number(spentByKey.get(key.id) ?? 0)}</td>
              <td>{key.budget === null ? "none" : <Used budget={key.budget} />}</td>
              <td>{key.scopes.join(", ")}</td>
              <td class="when">{key.lastUsedAt === null ? "never" : shortTime(key.lastUsedAt)}</td>
              <td>{key.state === "active" && <Acts of={key} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <NewKey account={account.name} />
  </>
)

const Used = ({ budget: { credits, period, used } }: { readonly budget: Budget }) => (
  <>
    <meter min={0} max={credits} value={used} high={credits * 0.9} aria-hidden="true" />{" "}
    {number(used)} of {number(credits)} {period === "total" ? "in all" : `a ${period}`}
  </>
)

const Acts = ({ of: { budget, id, start } }: { readonly of: Key }) => {
  const asked = useSignal<"rotate" | "revoke" | "budget" | undefined>(undefined)
  const text = useSignal(budget === null ? "" : `${budget.credits}/${budget.period}`)
  const close = () => (asked.value = undefined)
  const save = async (event: Event) => {
    event.preventDefault()
    const given = text.value.trim()
    if (await change((api) => api.setBudget(id, given === "" ? null : given))) close()
  }
  const rotate = () =>
    act(async (api) => {
      const { account, key } = await api.rotate(id)
      if (key !== null) newKey.value = { key, account }
      await refresh(api)
    })
  if (asked.value === "budget") {
    return (
      <form class="ask" onSubmit={(event) => void save(event)}>
        <label>
          <span class="unseen">Budget of {start}…</span>
          <input
            placeholder="500/day, or empty for none"
            pattern="\d+/(day|month|total)"
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="small" disabled={isBusy.value}>
          Save
        </button>
        <Cancel onClick={close} />
      </form>
    )
  }
  if (asked.value === "rotate" || asked.value === "revoke") {
    const isRotation = asked.value === "rotate"
    return (
      <div class="ask">
        <button
          type="button"
          class="small danger"
          disabled={isBusy.value}
          onClick={() => void (isRotation ? rotate() : change((api) => api.revoke(id)))}
        >
          {isRotation ? "Rotate: the old key ends in 24 h" : `Revoke ${start}… now`}
        </button>
        <Cancel onClick={close} />
      </div>
    )
  }
  return (
    <div class="ask">
      {(["budget", "rotate", "revoke"] as const).map((one) => (
        <button key={one} type="button" class="small quiet" onClick={() => (asked.value = one)}>
          {one === "budget" ? "Budget" : one === "rotate" ? "Rotate" : "Revoke"}
          <span class="unseen"> {start}…</span>
        </button>
      ))}
    </div>
  )
}

const Cancel = ({ onClick }: { readonly onClick: () => void }) => (
  <button type="button" class="small quiet" onClick={onClick}>
    Cancel
  </button>
)

const scopeSets = { "check and read": ["check", "read"], check: ["check"], read: ["read"] } as const

const NewKey = ({ account }: { readonly account: string }) => {
  const label = useSignal("")
  const budget = useSignal("")
  const expiresIn = useSignal("")
  const scopes = useSignal<keyof typeof scopeSets>("check and read")
  const submit = (event: Event) => {
    event.preventDefault()
    const given = Object.entries({
      label: label.value.trim(),
      budget: budget.value.trim(),
      expiresIn: expiresIn.value.trim(),
    }).filter(([, value]) => value !== "")
    void act(async (api) => {
      const terms = { ...Object.fromEntries(given), scopes: scopeSets[scopes.value] }
      const { key } = await api.createKey(account, terms)
      if (key !== null) newKey.value = { key, account }
      await refresh(api)
    })
  }
  return (
    <details>
      <summary>New key</summary>
      <form class="fields" onSubmit={submit}>
        <Text name="Label" value={label} hint="rank tracker" />
        <Text name="Budget" value={budget} hint="500/day" pattern="\d+/(day|month|total)" />
        <Text name="Expires in" value={expiresIn} hint="90d" pattern="\d+(ms|s|m|h|d)" />
        <label>
          Scopes
          <select
            value={scopes.value}
            onChange={(event) => {
              const { value } = event.currentTarget
              if (value === "check" || value === "read" || value === "check and read") {
                scopes.value = value
              }
            }}
          >
            {Object.keys(scopeSets).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button type="submit" disabled={isBusy.value}>
          Create
        </button>
      </form>
    </details>
  )
}

const Text = (props: {
  readonly name: string
  readonly value: Signal<string>
  readonly hint: string
  readonly pattern?: string
}) => (
  <label>
    {props.name}
    <input
      placeholder={props.hint}
      {...(props.pattern !== undefined && { pattern: props.pattern })}
      value={props.value.value}
      onInput={(event) => (props.value.value = event.currentTarget.value)}
    />
  </label>
)
