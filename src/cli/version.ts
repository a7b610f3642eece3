import manifest from "../../package.json" with { type: "json" }

/** The build puts it in; sources have none. */
declare const COMMIT: string | undefined

export const version: string =
  typeof COMMIT === "undefined" ? manifest.version : `${manifest.version} (${COMMIT})`
