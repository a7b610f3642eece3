/**
 * Reads the token of the HTTP administration from the settings, or from the file that they name.
 */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Settings from "../Settings.ts"

/** The token; undefined when the administration is off. */
export const adminToken = Effect.gen(function* () {
  const { adminToken: token, adminTokenFile: file } = yield* Settings.Settings
  if (file === undefined) return token
  if (token !== undefined) {
    return yield* problem("set this or AUTHORITY_ADMIN_TOKEN, not both")
  }
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: (error) => problem(`${file} cannot be read (${String(error)})`),
  })
  return yield* Effect.mapError(Schema.decode(Settings.adminToken)(text), () =>
    problem(`expected ${file} to have a token of 32 or more printable ASCII characters`),
  )
}) satisfies Effect.Effect<
  Redacted.Redacted<string> | undefined,
  Settings.InvalidSetting,
  Settings.Settings
>

const problem = (text: string) =>
  new Settings.InvalidSetting({ message: `AUTHORITY_ADMIN_TOKEN_FILE: ${text}` })
