/** The report of the purchases, beside the bill that a vendor keeps of its own. */
import { it } from "@effect/vitest"
import { runs } from "../support/properties.ts"
import { reportBesideBill } from "../support/reportBesideBill.ts"

it.scopedLive(
  "the report equals the vendor's own bill over many calls with every kind of fault, and calls without an answer explain the rest",
  // A thousand calls in CI.
  () => reportBesideBill(runs(250)),
  300_000,
)
