/** The header of all pages. The pages of the guide and the API render it at build time. */
import type { ComponentChildren } from "preact"
import * as Theme from "./Theme.ts"

interface Props {
  /** The path from this page to the service's root, such as `../`. */
  readonly root: string
  readonly current: "console" | "usage" | "guide" | "api" | "operator"
  /** A note beside the name. */
  readonly note?: string
  /** The content at the right end. */
  readonly children?: ComponentChildren
}

export const Header = ({ children, current, note, root }: Props) => {
  // Other pages open in a new tab if leaving this page would lose a key that is not remembered.
  const isConsole = current === "console" || current === "usage"
  const away =
    isConsole || current === "operator" ? ({ target: "_blank", rel: "noreferrer" } as const) : {}
  // A link to this page would reload it, and lose such a key too.
  const consoleLink = isConsole ? "#" : `${root}console`
  const mark = away.target && <span class="unseen"> (in a new tab)</span>
  return (
    <header class="site">
      <a class="brand" href={consoleLink}>
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <path d="M3 17v-4M10 17V8M17 17V3" />
        </svg>
        Authority
      </a>
      {note !== undefined && <span class="note">{note}</span>}
      <nav aria-label="Site">
        <a href={consoleLink} aria-current={current === "console" ? "page" : undefined}>
          Console
        </a>
        {isConsole && (
          <a href="#usage" aria-current={current === "usage" ? "page" : undefined}>
            Usage
          </a>
        )}
        {current === "operator" && (
          <a href={`${root}console/operator`} aria-current="page">
            Administration
          </a>
        )}
        <a
          href={`${root}docs/guide/client`}
          aria-current={current === "guide" ? "page" : undefined}
          {...away}
        >
          Guide{mark}
        </a>
        <a href={`${root}docs`} aria-current={current === "api" ? "page" : undefined} {...away}>
          API{mark}
        </a>
      </nav>
      {children}
      <fieldset class="themes">
        <legend class="unseen">Colours</legend>
        {Theme.names.map((name) => (
          <label key={name} title={titles[name]}>
            <input
              type="radio"
              name="theme"
              value={name}
              class="unseen"
              defaultChecked={Theme.kept() === name}
            />
            <span>
              <svg viewBox="0 0 16 16" aria-hidden="true">
                <path d={icons[name]} />
              </svg>
              <span class="unseen">{titles[name]}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </header>
  )
}

const titles: Readonly<Record<Theme.Name, string>> = {
  auto: "As the system",
  light: "Light",
  dark: "Dark",
}

const icons: Readonly<Record<Theme.Name, string>> = {
  auto: "M2 3h12v8H2zM6 14h4",
  light:
    "M8 5a3 3 0 1 0 0 6a3 3 0 0 0 0-6M8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  dark: "M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z",
}
