import { useSignal } from "@preact/signals"
import { useRef } from "preact/hooks"
import { counted } from "../../contract/counted.ts"
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
} from "../Account.ts"
import { deleteAll, isActive } from "./ConsoleState.ts"
import { Ask, Menu } from "../Parts.tsx"
import { number } from "../Texts.ts"

const keyFieldId = "key"

/** How many characters of a key are shown, so that the user can recognise it. */
const keyStartLength = 8

export const focusKeyField = () => document.getElementById(keyFieldId)?.focus()

const shownField = { type: "text" } as const
const hiddenField = { type: "password" } as const

/** Asks for the key while there is none. */
export const Entry = () => {
  const isShown = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    // The key field disappears, so move the focus to the list.
    if (await enterKey(typedKey.value)) (document.getElementById("list") ?? runTitle())?.focus()
    else field.current?.focus()
  }
  return (
    <form class="card entry" onSubmit={(event) => void submit(event)} noValidate>
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
          class="quiet small"
          aria-pressed={isShown.value}
          onClick={() => (isShown.value = !isShown.value)}
        >
          Show
        </button>
      </div>
      <button type="submit" disabled={isAskingForCredits.value}>
        {isAskingForCredits.value ? "Checking the key…" : "Use this key"}
      </button>
      <Remember />
      <p id="key-problem" class="problem" role="alert">
        {keyProblem.value}
      </p>
      <p id="key-hint" class="hint">
        {isRemembering.value
          ? "The key stays in this browser until you forget it here. Whoever uses this browser can spend the credits."
          : "The key is lost when you close this page."}{" "}
        Answers stay in this browser until you delete them.
      </p>
    </form>
  )
}

const runTitle = () => document.getElementById("run-title")

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

/** A menu in the header that shows the key and what this browser stores. */
export const KeyMenu = () => (
  <Menu class="key" label={key.value === undefined ? "No key" : <Chip />}>
    {key.value !== undefined && <Account entered={key.value} />}
    <p class="hint">
      This browser keeps the answers that were paid for, and the addresses that were sent without an
      answer, of each account. Lists are not kept.
    </p>
    <Ask
      name="Delete everything"
      question="Delete all answers, the key and old runs?"
      act="Delete permanently"
      isDisabled={isActive}
      onAct={() => void deleteKept()}
    />
    <p class="problem" role="alert">
      {keyProblem.value}
    </p>
  </Menu>
)

const Chip = () => (
  <>
    <span class="name">{account.value ?? "Key"}</span>
    <span>
      {credits.value === undefined ? "…" : number(credits.value)}{" "}
      {credits.value === 1 ? "credit" : "credits"}
      <span class="unseen"> available</span>
    </span>
  </>
)

const deleteKept = () =>
  deleteAll().catch(() => {
    keyProblem.value = "The browser cannot change what it keeps. Reload the page, and try again."
  })

const Account = ({ entered }: { readonly entered: string }) => (
  <>
    <dl class="facts">
      <div>
        <dt>Spent since page load</dt>
        <dd>{counted(spent.value, "credit")}</dd>
      </div>
      <div>
        <dt>Key</dt>
        <dd>
          <code>{entered.slice(0, keyStartLength)}…</code>
        </dd>
      </div>
    </dl>
    <Remember />
    <div class="actions">
      <button
        type="button"
        class="small"
        aria-disabled={isAskingForCredits.value}
        onClick={() => void refreshCredits()}
      >
        Refresh
      </button>
      <button
        type="button"
        class="small"
        onClick={() => {
          forgetKey()
          requestAnimationFrame(focusKeyField)
        }}
      >
        {isRemembering.value ? "Forget this key" : "Use another key"}
      </button>
    </div>
  </>
)
