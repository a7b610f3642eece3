/** Stores and applies the colours that the user chose, on all pages. */
import * as LocalSettings from "./LocalSettings.ts"

export const names = ["auto", "light", "dark"] as const
export type Name = (typeof names)[number]

export const kept = (): Name => names.find((name) => name === LocalSettings.read("theme")) ?? "auto"

const radios = () => document.querySelectorAll<HTMLInputElement>("[name=theme]")

/** Applies the stored colours, and follows the choice in the header. Calls `onChange` each time. */
export const start = (onChange?: (name: Name) => void) => {
  const apply = (name: Name) => {
    document.documentElement.dataset["theme"] = name
    onChange?.(name)
  }
  apply(kept())
  // The header was rendered at build time, so the radio button of the user's choice is set here.
  for (const radio of radios()) radio.checked = radio.value === kept()
  addEventListener("change", ({ target }) => {
    const name = names.find((name) => target instanceof HTMLInputElement && target.value === name)
    if (name === undefined || ![...radios()].some((radio) => radio === target)) return
    LocalSettings.keep("theme", name)
    apply(name)
  })
}
