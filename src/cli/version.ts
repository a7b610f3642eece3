import manifest from "../../package.json" with { type: "json" }

/** The commit, which the build inserts. Undefined when the program runs from source. */
declare const COMMIT: string | undefined

export const version: string =
  typeof COMMIT === "undefined" ? manifest.version : `${manifest.version} (${COMMIT})`
