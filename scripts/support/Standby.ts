/** A PostgreSQL primary and its standby, each with its own port and data. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import * as Postgres from "./Postgres.ts"

interface Standby extends Postgres.Server {
  /** Makes the standby a primary. Resolves once it accepts writes. */
  readonly promote: () => Promise<void>
}

export interface Pair {
  readonly primary: Postgres.Server
  readonly standby: Standby
  readonly destroy: () => Promise<void>
}

interface Options extends Postgres.Options {
  /** When true, a COMMIT on the primary waits until the standby has written the commit to disk. */
  readonly synchronous: boolean
}

/** Starts a primary and its standby. Each of the two can be stopped, killed and started again. */
export const start = async ({ synchronous, ...options }: Options): Promise<Pair> => {
  const parameters = options.parameters ?? []
  const primary = await Postgres.start({
    ...options,
    parameters: synchronous ? [...parameters, "synchronous_standby_names=standby"] : parameters,
  })
  try {
    await primary.stop()
    const standby = await Postgres.start({ ...options, standbyOf: primary })
    await primary.start()
    const destroy = async () => {
      await standby.destroy()
      await primary.destroy()
    }
    return {
      primary,
      standby: { ...standby, promote: () => promote(standby) },
      destroy,
    }
  } catch (cause) {
    await primary.destroy()
    throw cause
  }
}

/** Promotes the standby in the same way as `pg_ctl promote`. */
const promote = async ({ data, log }: Postgres.Server) => {
  writeFileSync(join(data, "promote"), "")
  process.kill(Postgres.serverIn(data), "SIGUSR1")
  while (!log().includes("ready to accept connections")) await setTimeout(10)
}
