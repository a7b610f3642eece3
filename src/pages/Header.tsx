import { effect, signal } from "@preact/signals"
import * as Theme from "./Theme.ts"

const theme = signal(Theme.kept())

effect(() => {
  Theme.apply(theme.value)
  Theme.keep(theme.value)
})

interface Props {
  /** True when the service serves the administration. */
  readonly hasAdministration: boolean
  readonly isOperator: boolean
}

export const Header = ({ hasAdministration, isOperator }: Props) => (
  <header>
    <h1>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M3 13V9.500M8 13V6M13 13V3" />
      </svg>
      <span>
        Authority<span class="long"> console</span>
      </span>
    </h1>
    <nav aria-label="Site">
      {hasAdministration &&
        (isOperator ? <a href="#">Check a list</a> : <a href="#operator">Administration</a>)}
      {/* These open in a new tab, because leaving this page loses a key that is not remembered. */}
      <a href="docs/guide/client" target="_blank" rel="noreferrer">
        Guide<span class="unseen"> (in a new tab)</span>
      </a>
      <a href="docs" target="_blank" rel="noreferrer">
        API<span class="unseen"> (in a new tab)</span>
      </a>
      <fieldset class="themes">
        <legend class="unseen">Colours</legend>
        {Theme.names.map((name) => (
          <label key={name}>
            <input
              type="radio"
              name="theme"
              class="unseen"
              checked={theme.value === name}
              onChange={() => (theme.value = name)}
            />
            <span>{name === "auto" ? "Auto" : name === "light" ? "Light" : "Dark"}</span>
          </label>
        ))}
      </fieldset>
    </nav>
  </header>
)
