/**
 * One real PostgreSQL for the whole run, whichever projects need it. Where it cannot start the run
 * fails: a suite that nobody sees skipped proves nothing.
 */
import type { TestProject } from "vitest/node"
import * as Postgres from "../../scripts/support/Postgres.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** Of a superuser, without a database. */
    readonly postgresUrl: string
  }
}

export default async function setup({ vitest }: TestProject) {
  const root = vitest.getRootProject()
  // Another project of this run has started it.
  if (root.getProvidedContext().postgresUrl !== undefined) return undefined
  // The tests end processes, never the machine.
  const server = await Postgres.start({ durable: false }).catch(giveUp)
  root.provide("postgresUrl", server.url)
  return server.destroy
}

/** Ends the run with the reason: Vitest would first say that there are no test files. */
const giveUp = (error: unknown): never => {
  console.error(error instanceof Error ? `${error.message}\n\n${error.cause}` : error)
  process.exit(1)
}
