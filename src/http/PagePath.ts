/** The paths of the HTML pages. The build makes one page for each path. */
import * as Schema from "effect/Schema"

export const PagePath = Schema.Literal(
  "/console",
  "/docs",
  "/docs/guide/changes",
  "/docs/guide/client",
  "/docs/guide/contributing",
  "/docs/guide/design",
  "/docs/guide/ledger",
  "/docs/guide/monitoring",
  "/docs/guide/operating",
  "/docs/guide/postgresql",
  "/docs/guide/providers",
  "/docs/guide/simulation",
  "/docs/guide/speed",
)
export type PagePath = typeof PagePath.Type
