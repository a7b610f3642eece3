/**
 * Runs a durable PostgreSQL with its data in the working directory, and prints its address. SIGTERM
 * ends it.
 */
import * as Postgres from "../support/Postgres.ts"

const server = await Postgres.start({ durable: true, within: process.cwd() })
process.once("SIGTERM", () => void server.destroy().finally(() => process.exit()))
console.log(JSON.stringify({ url: `${server.url}/postgres` }))
