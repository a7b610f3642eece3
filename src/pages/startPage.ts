/** Starts the console and the operator's pages. */
import { signal } from "@preact/signals"
import { type ComponentChild, render } from "preact"
import * as Theme from "./Theme.ts"

/** The part of the address behind `#`, which names what a page shows. */
export const hash = signal(location.hash)
addEventListener("hashchange", () => (hash.value = location.hash))

/** Renders a page into its document. */
export const startPage = (page: ComponentChild) => {
  Theme.start()
  const place = document.getElementById("console")
  if (place !== null) render(page, place)
  keepFocus()
}

/**
 * Moves the focus to the title of the section when the focused control disappears. Otherwise, the
 * browser would lose the place of the user's keyboard or screen reader.
 */
const keepFocus = () => {
  let focused: Element | null = null
  let titleId = ""
  const remember = () => {
    focused = document.activeElement
    titleId = focused?.closest("section")?.getAttribute("aria-labelledby") ?? ""
  }
  addEventListener("focusin", remember)
  // Runs before the click removes the control. A click outside all controls gives up the focus.
  addEventListener("click", remember, true)
  new MutationObserver(() => {
    if (focused?.isConnected !== false || document.activeElement !== document.body) return
    const title =
      document.getElementById(titleId) ?? document.querySelector<HTMLElement>("main :is(h1, h2)")
    if (title === null) return
    title.tabIndex = -1
    title.focus({ preventScroll: true })
  }).observe(document.body, { childList: true, subtree: true })
}
