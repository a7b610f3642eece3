/**
 * `authority-metrics/testing`: the service for tests, on Node 22.18 or newer and Deno.
 *
 * Promised within a major version: the names below, their types, and the documented behaviour.
 * Everything else in the package may change.
 */
import "../server/nodeVersion.ts"

export { ledgerSuite, type LedgerSuiteOptions, type LedgerTest } from "./ledger/Suite.ts"
export { layer, type Options, type Running, start, TestService } from "./TestService.ts"
