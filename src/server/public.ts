/**
 * `authority-metrics/server`: runs the service in your own program and with your own provider, on
 * Node 22.18 or newer, or on Deno.
 *
 * Within a major version these do not change: the names below, their types, the documented
 * behaviour, and the settings on the guide's page about operating. Everything else in the package
 * may change. A minor version may add methods to `Accounts`, `ApiKeys` and `CreditLedger`, so call
 * these ports, but do not implement them.
 */
import "./nodeVersion.ts"

export { AccountExists, Accounts } from "../Account.ts"
export { ApiKeys } from "../ApiKeys.ts"
export { CreditLedger } from "../CreditLedger.ts"
export { newKey } from "./newKey.ts"
export { run } from "./run.ts"
export { type CannotStart, type Given, layer, type Options, Service } from "./Service.ts"
export { inMemory, type Stores } from "./Stores.ts"
