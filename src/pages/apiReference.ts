/** Starts Scalar in the page of the API reference. */
import * as Theme from "./Theme.ts"

declare const Scalar: {
  readonly createApiReference: (
    selector: string,
    options: Record<string, unknown>,
  ) => { readonly updateConfiguration: (options: Record<string, unknown>) => void }
}

const options = (isDark: boolean) => ({
  url: "openapi.json",
  servers: [{ url: new URL(".", location.href).href.replace(/\/$/, "") }],
  // The page requests nothing from Scalar's servers.
  withDefaultFonts: false,
  telemetry: false,
  showToolbar: "never",
  hideClientButton: true,
  hideDarkModeToggle: true,
  forceDarkModeState: isDark ? "dark" : "light",
})

const isDarkSystem = matchMedia("(prefers-color-scheme: dark)")
const isDark = (name: Theme.Name) => (name === "auto" ? isDarkSystem.matches : name === "dark")

const reference = Scalar.createApiReference("#api", options(isDark(Theme.kept())))
const show = (name: Theme.Name) => reference.updateConfiguration(options(isDark(name)))
Theme.start(show)
isDarkSystem.addEventListener("change", () => show(Theme.kept()))
