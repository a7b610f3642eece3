/**
 * The real SQL stores on a real SQLite file, with faults between the client and the file. The
 * connection can be lost, as one to PostgreSQL can, so the answer to a COMMIT can be lost too.
 */
import { SqlError } from "@effect/sql/SqlError"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Failure from "../../src/database/Failure.ts"
import * as Migrations from "../../src/database/migrations/migrate.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import type { Faults } from "./Faults.ts"
import { never, type Process, type World } from "./World.ts"

/** Opens the file, creates it if needed, and runs the migrations. */
export const layer = (file: string) =>
  Layer.provideMerge(Migrations.layer, Sqlite.layer(file)).pipe(Layer.orDie)

/** A period in which the store refuses connections or does not answer. */
export interface Outage {
  readonly kind: "refuses" | "hangs"
  /** Milliseconds of `World.now`. */
  readonly until: number
}

interface Options {
  readonly world: World
  readonly process: Process
  readonly faults: Faults
  readonly outage: () => Outage | undefined
  /** Ends the process. */
  readonly crash: () => void
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

/** Puts the faults into the connection of an open client. Call `afterCrash` after a crash. */
export const injectFaults = (options: Options) =>
  Effect.gen(function* () {
    const { crash, faults, outage, problem, process, world } = options
    const { name } = process
    const sql = yield* SqlClient.SqlClient
    // Never wait for a lock: a waiting SQLite would block the whole world.
    yield* sql`PRAGMA busy_timeout = 0`
    // No fsync: a simulated crash ends only the process, and the operating system keeps its writes.
    yield* sql`PRAGMA synchronous = OFF`
    const connection = yield* Effect.scoped(sql.reserve)
    const { execute } = connection
    let isOpen = false
    let turnsBefore = 0
    let hasCharged = false
    /** The tables and requests whose rows are refused. */
    const refused = new Set<string>()

    const setOpen = (open: boolean) => {
      if (open !== isOpen) world.openTransactions += open ? 1 : -1
      const turns = world.counts.get("interleavings") ?? 0
      if (isOpen && !open && turns > turnsBefore) world.count("interleaved transactions")
      turnsBefore = turns
      isOpen = open
      hasCharged = false
    }

    const lost = failure("ECONNRESET", "the simulated connection was lost")
    const full = failure("SQLITE_FULL", "the simulated disk is full")
    const dataRefused = failure("SQLITE_CONSTRAINT_CHECK", "the simulated constraint failed")
    const conflict = failure("40001", "restart transaction: the simulated engine asks for it")
    const pause = (least: number, most: number) => {
      const ms = faults.between(least, most)
      faults.trouble(ms)
      return Effect.zipRight(
        Effect.sleep(ms),
        Effect.sync(() => faults.trouble()),
      )
    }

    const late = <A>(read: Effect.Effect<A, SqlError>) =>
      Effect.tap(read, () => {
        const ms = faults.lateRead(name)
        return ms === 0 ? Effect.void : Effect.sleep(ms)
      })

    const troubled = <A>(effect: Effect.Effect<A, SqlError>) =>
      Effect.suspend(() => {
        faults.trouble()
        return effect
      })

    const ends = Effect.suspend(() => {
      crash()
      return never
    })

    const begin = <A>(run: Effect.Effect<A, SqlError>) => {
      if (faults.strikes("store: busy at BEGIN", name))
        return troubled(failure("SQLITE_BUSY", "busy"))
      if (faults.strikes("store: connection lost at BEGIN", name)) return troubled(lost)
      return Effect.tapBoth(run, {
        onSuccess: () => Effect.sync(() => setOpen(true)),
        onFailure: () => Effect.sync(() => world.count("conflicts")),
      })
    }

    const commit = <A>(run: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> => {
      const done = Effect.tap(run, () => {
        world.note(name, hasCharged ? "COMMIT of a charge" : "COMMIT")
        setOpen(false)
      })
      const strikes: Faults["strikes"] = (fault) => faults.strikes(fault, name)
      if (faults.conflict("COMMIT", name)) return conflict
      if (strikes("store: disk full at COMMIT", name)) return troubled(full)
      if (strikes("store: connection lost before COMMIT took effect", name)) return troubled(lost)
      if (hasCharged && strikes("crash before COMMIT", name)) return ends
      if (hasCharged && strikes("crash between COMMIT and answer", name)) {
        return Effect.zipRight(done, ends)
      }
      if (strikes("store: lost acknowledgement", name)) return troubled(Effect.zipRight(done, lost))
      if (strikes("store: slow COMMIT", name)) return Effect.zipRight(pause(100, 6000), done)
      if (strikes("store: slow acknowledgement", name)) {
        return Effect.zipLeft(done, pause(100, 6000))
      }
      return done
    }

    /**
     * Returns whether the statement writes a refused request's rows, even if its batch is committed
     * in halves.
     */
    const isRefused = (text: string, params: ReadonlyArray<unknown>) => {
      const [, table] = insertOfBooks.exec(text) ?? []
      if (table === undefined) return false
      const ids = String(params[0]).match(requestIds) ?? []
      if (ids.some((id) => refused.has(`${table} ${id}`))) return true
      const [id] = ids
      if (id === undefined || !faults.strikes("store: refused data", name)) return false
      refused.add(`${table} ${id}`)
      faults.refused.add(id)
      return true
    }

    const statement = <A>(
      text: string,
      params: ReadonlyArray<unknown>,
      run: Effect.Effect<A, SqlError>,
    ) => {
      if (faults.strikes("store: connection lost at a statement", name)) return troubled(lost)
      // Outside a transaction there is no other fault, because statements there only read.
      if (!isOpen) return late(run)
      if (faults.conflict("a statement", name)) return conflict
      if (/^\s*INSERT INTO entries/.test(text)) hasCharged = true
      if (isRefused(text, params)) return dataRefused
      if (faults.strikes("store: disk full at a statement", name)) return troubled(full)
      return faults.strikes("store: slow statement", name)
        ? Effect.zipRight(pause(20, 1500), run)
        : run
    }

    const around = <A>(
      text: string,
      params: ReadonlyArray<unknown>,
      run: Effect.Effect<A, SqlError>,
    ): Effect.Effect<A, SqlError> => {
      if (text === "ROLLBACK")
        return Effect.ensuring(
          run,
          Effect.sync(() => setOpen(false)),
        )
      if (text === "COMMIT") return commit(run)
      return text === "BEGIN IMMEDIATE" ? begin(run) : statement(text, params, run)
    }

    const withOutage = <A>(
      text: string,
      params: ReadonlyArray<unknown>,
      run: Effect.Effect<A, SqlError>,
    ) => {
      const current = outage()
      if (current === undefined || text === "ROLLBACK") return around(text, params, run)
      faults.trouble()
      if (current.kind === "refuses" || (!isOpen && text !== "BEGIN IMMEDIATE")) {
        return failure("ECONNREFUSED", "the simulated server refuses connections")
      }
      const wait = Effect.sleep(Math.max(0, current.until - world.now))
      return Effect.zipRight(
        wait,
        Effect.suspend(() => around(text, params, run)),
      )
    }

    const watched = <A>(text: string, run: Effect.Effect<A, SqlError>) =>
      Effect.tapError(run, (error) =>
        Effect.sync(() => {
          if (Failure.isBadData(error)) problem(`the database refuses "${text}": ${error.cause}`)
        }),
      )

    Object.assign(connection, {
      execute: (...[text, params, transform]: Parameters<typeof execute>) =>
        Effect.suspend(() =>
          withOutage(text, params, watched(text, execute(text, params, transform))),
        ),
    })

    return { afterCrash: () => setOpen(false) }
  })

/** Matches an INSERT of a request's rows, and captures the name of the table. */
const insertOfBooks = /^\s*INSERT INTO (entries|holds|receipts) /

/** The request ids in the rows, which are a single JSON parameter. */
const requestIds = /(?<=")[ABC]-\d+(?=")/g

const failure = (code: string, message: string) =>
  Effect.fail(new SqlError({ cause: Object.assign(new Error(message), { code }), message }))
