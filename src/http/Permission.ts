/** Decides whether a key may make a request. */
import type { AccountKey } from "../ApiKeys.ts"
import { batchPath } from "../contract/Wire.ts"
import type { Scope } from "../Scope.ts"

/** The scope that a request to a path of the contract needs. */
export const scopeOf = (path: string): Scope => (path === batchPath ? "check" : "read")

/** Returns why a key may not make a request that needs `scope`; undefined when it may. */
export const denialOf = (
  { accountSuspendedAt, scopes }: AccountKey,
  scope: Scope,
): string | undefined => {
  if (accountSuspendedAt !== null) return "The account is suspended."
  return scopes.includes(scope)
    ? undefined
    : `The API key does not have the scope ${scope}, which this request needs.`
}
