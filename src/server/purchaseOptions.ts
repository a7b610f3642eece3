import type * as Purchased from "../providers/Purchased.ts"
import * as Settings from "../Settings.ts"

/** The vendors that cost something, and how the names of their settings begin. */
const vendors = {
  moz: "moz",
  "moz-links-v2": "mozLinksV2",
  "open-page-rank": "openPageRank",
  dataforseo: "dataforseo",
  http: "http",
} as const

const isVendor = (provider: string): provider is keyof typeof vendors => provider in vendors

/** What the settings say of the cost of a vendor's calls. */
export const purchaseOptions = (
  settings: Settings.Settings["Type"],
  provider: string,
): Purchased.Options => {
  const kept = settings.purchasesKept
  if (!isVendor(provider)) return { kept }
  const vendor = vendors[provider]
  const rows = settings[`${vendor}Ceiling`]
  const setting = Settings.all[`${vendor}Ceiling`].about.name
  return {
    kept,
    price: settings[`${vendor}Price`],
    ceiling: rows === undefined ? undefined : { rows, setting },
  }
}
