import { useSignal } from "@preact/signals"
import { useRef } from "preact/hooks"
import {
  credits,
  enterKey,
  forgetKey,
  isAskingForCredits,
  key,
  keyProblem,
  refreshCredits,
  spent,
} from "./ConsoleState.ts"
import { count, number } from "./Texts.ts"

const keyFieldId = "key"

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
    if (await enterKey(field.current?.value ?? "")) document.getElementById("list")?.focus()
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
      <button type="submit" class="primary" disabled={isAskingForCredits.value}>
        {isAskingForCredits.value ? "Checking the key…" : "Use this key"}
      </button>
      <p id="key-hint" class="hint">
        The key is kept only in memory, and is lost when you close this page. Results stay in this
        browser until you delete them.
      </p>
    </form>
  )
}

/** How many characters of the key are shown, so that the user recognises it. */
const startLength = 8

const Account = ({ entered }: { readonly entered: string }) => (
  <>
    <p class="balance" role="status">
      <strong>{number(credits.value ?? 0)}</strong> {credits.value === 1 ? "credit" : "credits"}{" "}
      available
    </p>
    <dl class="facts">
      <div>
        <dt>Spent since page load</dt>
        <dd>{count(spent.value, "credit")}</dd>
      </div>
      <div>
        <dt>Key</dt>
        <dd>
          <code>{entered.slice(0, startLength)}…</code>
        </dd>
      </div>
    </dl>
    <p class="problem" role="alert">
      {keyProblem.value}
    </p>
    <div class="actions">
      <button
        type="button"
        disabled={isAskingForCredits.value}
        onClick={() => void refreshCredits()}
      >
        Refresh
      </button>
      <button type="button" class="quiet" onClick={forgetKey}>
        Use another key
      </button>
    </div>
  </>
)
