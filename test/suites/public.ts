/**
 * `authority-metrics/testing`: the service for tests, on Node 22.14 or newer and Deno, and the suite
 * of ledgers. The build bundles this file, because `src` imports no tests.
 *
 * Promised within a major version: the names below, their types, and the documented behaviour.
 * Everything else in the package may change.
 */
import "../../src/nodeVersion.ts"

export { ledgerSuite, type LedgerSuiteOptions, type LedgerTest } from "./ledger/Suite.ts"
export {
  layer,
  type Options,
  type Running,
  start,
  TestService,
} from "../../src/testing/TestService.ts"
