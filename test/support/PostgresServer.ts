/**
 * Starts one real PostgreSQL for those projects of a run that need it, or uses the server in
 * POSTGRES_URL. If it cannot start, the run fails, because silently skipped tests would prove
 * nothing.
 */
import type { TestProject } from "vitest/node"
import * as Postgres from "../../scripts/support/Postgres.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** The superuser's URL of the server, without a database. */
    readonly postgresUrl: string
    /** The same URL, for projects of the run that can do without a server. */
    readonly startedPostgresUrl: string
  }
}

export default async function setup(project: TestProject) {
  const root = project.vitest.getRootProject()
  const ready = process.env["POSTGRES_URL"] ?? root.getProvidedContext().startedPostgresUrl
  if (ready !== undefined) {
    project.provide("postgresUrl", ready)
    return undefined
  }
  // The server need not be durable, because the tests kill processes but never the machine.
  const server = await Postgres.start({ durable: false }).catch(giveUp)
  root.provide("startedPostgresUrl", server.url)
  project.provide("postgresUrl", server.url)
  return server.destroy
}

/** Prints the reason and ends the run, because Vitest would hide the reason. */
const giveUp = (error: unknown): never => {
  console.error(error instanceof Error ? `${error.message}\n\n${error.cause}` : error)
  process.exit(1)
}
