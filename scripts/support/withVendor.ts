import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as FakeMoz from "./FakeMoz.ts"

/** Starts a fake Moz and makes a temporary folder, and removes both after `use`. */
export const withVendor = async <A>(
  name: string,
  use: (vendor: Effect.Effect.Success<typeof FakeMoz.make>, folder: string) => Promise<A>,
): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), `authority-${name}-`))
  const scope = Effect.runSync(Scope.make())
  try {
    return await use(await Effect.runPromise(Scope.extend(FakeMoz.make, scope)), folder)
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(folder, { recursive: true, force: true })
  }
}
