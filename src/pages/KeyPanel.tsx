import { useSignal } from "@preact/signals"
import { useRef } from "preact/hooks"
import { counted } from "../text/counted.ts"
import {
  account,
  credits,
  enterKey,
  forgetKey,
  isAskingForCredits,
  isRemembering,
  key,
  keyProblem,
  refreshCredits,
  spent,
  typedKey,
} from "./Account.ts"
import { number } from "./Texts.ts"

const keyFieldId = "key"

/** How many characters of a key are shown, so that the user recognises the key. */
const keyStartLength = 8

export const focusKeyField = () => document.getElementById(keyFieldId)?.focus()

export const KeyPanel = () => (
  <section class="card" aria-labelledby="key-title">
    <h2 id="key-title">Key</h2>
    {key.value === undefined ? <Entry /> : <Account entered={key.value} />}
  </section>
)

const shownField = { type: "text" } as const
const hiddenField = { type: "password" } as const

const Entry = () => {
  const isShown = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    // The key field disappears, so move the focus to the list.
    if (await enterKey(typedKey.value)) document.getElementById("list")?.focus()
    else field.current?.focus()
  }
  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <label for={keyFieldId}>API key</label>
      <div class="joined">
        <input
          ref={field}
          id={keyFieldId}
          {...(isShown.value ? shownField : hiddenField)}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder="am_…"
          value={typedKey.value}
          onInput={(event) => (typedKey.value = event.currentTarget.value)}
          aria-describedby="key-hint key-problem"
          aria-invalid={keyProblem.value !== undefined}
        />
        <button
          type="button"
          class="quiet"
          aria-pressed={isShown.value}
          onClick={() => (isShown.value = !isShown.value)}
        >
          Show
        </button>
      </div>
      <p id="key-problem" class="problem" role="alert">
        {keyProblem.value}
      </p>
      <Remember />
      <button type="submit" disabled={isAskingForCredits.value}>
        {isAskingForCredits.value ? "Checking the key…" : "Use this key"}
      </button>
      <p id="key-hint" class="hint">
        {isRemembering.value
          ? "The key stays in this browser until you forget it here. Whoever uses this browser can spend the credits."
          : "The key is lost when you close this page."}{" "}
        Answers stay in this browser until you delete them.
      </p>
    </form>
  )
}

const Remember = () => (
  <label class="choice">
    <input
      type="checkbox"
      checked={isRemembering.value}
      onChange={(event) => (isRemembering.value = event.currentTarget.checked)}
    />
    Remember the key on this device
  </label>
)

const Account = ({ entered }: { readonly entered: string }) => (
  <>
    <p class="balance" role="status">
      <strong>{credits.value === undefined ? "…" : number(credits.value)}</strong>{" "}
      {credits.value === 1 ? "credit" : "credits"} available
    </p>
    <dl class="facts">
      <div>
        <dt>Spent since page load</dt>
        <dd>{counted(spent.value, "credit")}</dd>
      </div>
      {account.value !== undefined && (
        <div>
          <dt>Account</dt>
          <dd>{account.value}</dd>
        </div>
      )}
      <div>
        <dt>Key</dt>
        <dd>
          <code>{entered.slice(0, keyStartLength)}…</code>
        </dd>
      </div>
    </dl>
    <Remember />
    <p class="problem" role="alert">
      {keyProblem.value}
    </p>
    <div class="actions">
      <button
        type="button"
        aria-disabled={isAskingForCredits.value}
        onClick={() => void refreshCredits()}
      >
        Refresh
      </button>
      <button type="button" class="quiet" onClick={forgetKey}>
        {isRemembering.value ? "Forget this key" : "Use another key"}
      </button>
    </div>
  </>
)
