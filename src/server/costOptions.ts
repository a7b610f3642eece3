import type * as Counted from "../providers/costs/Counted.ts"
import * as Settings from "../Settings.ts"

/** The vendors that cost something, and how the names of their settings begin. */
const vendors = {
  moz: "moz",
  "moz-links-v2": "mozLinksV2",
  "open-page-rank": "openPageRank",
  dataforseo: "dataforseo",
  http: "http",
} as const satisfies Record<Exclude<Settings.ProviderName, "sandbox" | "dataset">, string>

const isVendor = (provider: string): provider is keyof typeof vendors => provider in vendors

/** What the settings say of the cost of a vendor's calls. */
export const costOptions = (
  settings: Settings.Settings["Type"],
  provider: string,
): Counted.Options => {
  if (!isVendor(provider)) return {}
  const vendor = vendors[provider]
  const rows = settings[`${vendor}Ceiling`]
  const setting = Settings.all[`${vendor}Ceiling`].about.name
  return {
    price: settings[`${vendor}Price`],
    ceiling: rows === undefined ? undefined : { rows, setting },
  }
}
