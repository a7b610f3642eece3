/**
 * Starts one real PostgreSQL for the whole run, or uses the server in POSTGRES_URL. If it cannot start, the run fails, because silently
 * skipped tests would prove nothing.
 */
import type { TestProject } from "vitest/node"
import * as Postgres from "../../scripts/support/Postgres.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** The superuser's URL of the server, without a database. */
    readonly postgresUrl: string
  }
}

export default async function setup({ vitest }: TestProject) {
  const root = vitest.getRootProject()
  // Another project of this run has already started the server.
  if (root.getProvidedContext().postgresUrl !== undefined) return undefined
  const given = process.env["POSTGRES_URL"]
  if (given !== undefined) {
    root.provide("postgresUrl", given)
    return undefined
  }
  // Not durable: the tests kill processes, but never the machine.
  const server = await Postgres.start({ durable: false }).catch(giveUp)
  root.provide("postgresUrl", server.url)
  return server.destroy
}

/** Prints the reason and ends the run, because Vitest would hide the reason. */
const giveUp = (error: unknown): never => {
  console.error(error instanceof Error ? `${error.message}\n\n${error.cause}` : error)
  process.exit(1)
}
