import manifest from "../../package.json" with { type: "json" }

/** The commit. The build defines it; it is not defined when the program runs from its sources. */
declare const COMMIT: string | undefined

export const version: string =
  typeof COMMIT === "undefined" ? manifest.version : `${manifest.version} (${COMMIT})`
