/** Starts Scalar in the page of the API reference. */
import * as v from "valibot"
import * as Theme from "../Theme.ts"

declare const Scalar: {
  readonly createApiReference: (
    selector: string,
    options: Record<string, unknown>,
  ) => { readonly updateConfiguration: (options: Record<string, unknown>) => void }
}

const Parameter = v.looseObject({ in: v.string(), schema: v.looseObject({}) })
const Operation = v.looseObject({ parameters: v.optional(v.array(Parameter), []) })
const Document = v.looseObject({ paths: v.record(v.string(), v.record(v.string(), Operation)) })

const base = new URL(".", location.href).href.replace(/\/$/, "")

/** How our own client calls the endpoint of each path. */
const calls: Readonly<Record<string, string>> = {
  "/v1/metrics/da-pa/batch": 'check(["example.com", "https://www.iana.org/about"])',
  "/v1/metrics/da-pa/preview": 'preview(["example.com", "https://www.iana.org/about"])',
  "/v1/metrics/da-pa/history": 'history("example.com")',
  "/v1/quota/available-credits": "availableCredits()",
  "/v1/key": "key()",
  "/v1/usage": "usage()",
}

const sampleOf = (call: string) => ({
  lang: "typescript",
  label: "authority-metrics",
  source: `import { AuthorityMetrics } from "authority-metrics"

const client = AuthorityMetrics({
  baseUrl: "${base}",
  apiKey: "am_YOUR_KEY",
})
console.log(await client.${call})`,
})

/**
 * Adds examples with our own client to the document. Removes the examples of the optional headers:
 * a request that is pasted twice with the same idempotency key would only get the first answer
 * again.
 */
const prepared = async () => {
  const document = v.parse(Document, await (await fetch("openapi.json")).json())
  for (const [path, operations] of Object.entries(document.paths))
    for (const operation of Object.values(operations)) {
      for (const { in: place, schema } of operation.parameters)
        if (place === "header") delete schema["examples"]
      const call = calls[path]
      if (call !== undefined) operation["x-codeSamples"] = [sampleOf(call)]
    }
  return document
}

const content = await prepared()

const options = (isDark: boolean) => ({
  content,
  servers: [{ url: base }],
  authentication: {
    preferredSecurityScheme: "apiKey",
    securitySchemes: { apiKey: { name: "x-api-key", in: "header", value: "am_YOUR_KEY" } },
  },
  // The page must not request anything from Scalar's servers.
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
