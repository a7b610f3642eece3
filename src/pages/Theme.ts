/** The colours that the user chose in the console, for all pages. */
import * as DeviceStore from "./DeviceStore.ts"

export const names = ["auto", "light", "dark"] as const
type Name = (typeof names)[number]

export const kept = (): Name => names.find((name) => name === DeviceStore.read("theme")) ?? "auto"

export const keep = (name: Name) => DeviceStore.keep("theme", name)

export const apply = (name: Name) => {
  document.documentElement.dataset["theme"] = name
}
