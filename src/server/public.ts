/**
 * `authority-metrics/server`: the service with layers of your own, on Node 22.18 or newer and Deno.
 *
 * Promised within a major version: the names below, their types, the documented behaviour, and the
 * settings on the guide's page about operating. Everything else in the package may change. A minor
 * version may add methods to the ports, so a program may call a port but must not implement it.
 */
import "./nodeVersion.ts"

export { AccountExists, Accounts } from "../Account.ts"
export { ApiKeys } from "../ApiKeys.ts"
export { CreditLedger } from "../CreditLedger.ts"
export { newKey } from "./newKey.ts"
export { run } from "./run.ts"
export { type CannotStart, type Given, layer, type Options, Service } from "./Service.ts"
export { inMemory, type Stores } from "./Stores.ts"
