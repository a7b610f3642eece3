/**
 * Starts the program, loads it with clients, kills it with SIGKILL at a random moment, and starts
 * it again on the same database; on PostgreSQL two at once. After all rounds: what a client was
 * told of is in the statement exactly once; what else is charged was in flight, and its client can
 * collect it if it had named it; the books add up; and holds return though their leases go on. The
 * figures are bought from a vendor that answers at once and are kept, so that some charges are of
 * one commit, where everything was known, and the others of two.
 *
 *     node scripts/crash.ts [--rounds 200] [--database sqlite|postgres]
 */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { BatchResponse } from "../src/contract/Api.ts"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Postgres from "./support/Postgres.ts"
import { type Program, programOn } from "./program.ts"

export interface Options {
  readonly rounds: number
  readonly database: "sqlite" | "postgres"
  /** The program's file, when it is not the source. */
  readonly program?: string
}

export interface Outcome {
  readonly kills: number
  readonly acknowledged: number
  /** Of them, those that were certainly charged in one commit, for their figures were known. */
  readonly atOnce: number
  /** Of them, those that were certainly held first and settled in a second commit. */
  readonly inTwoSteps: number
  readonly inFlight: number
  /** Charged although nobody was told of it at the time. */
  readonly unacknowledged: number
  /** Of them, those whose client got the answer later, by its idempotency key. */
  readonly collected: number
  /** How many credits were held when the last process was gone. */
  readonly heldAtLast: number
}

const clientsPerProcess = 16
const requestTimeoutMs = 1000
/** A killed process is found gone after six to eight seconds, on a busy machine later. */
const returnMs = 20_000

/** Throws when anything was lost. */
export const crash = async (options: Options): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), "authority-crash-"))
  const scope = Effect.runSync(Scope.make())
  const vendor = await Effect.runPromise(Scope.extend(FakeMoz.make, scope))
  const server =
    options.database === "postgres" ? await Postgres.start({ durable: true }) : undefined
  try {
    const databaseUrl =
      server === undefined ? `sqlite:${join(folder, "authority.db")}` : `${server.url}/postgres`
    return await crashOn(databaseUrl, vendor.url, folder, options)
  } finally {
    await server?.destroy()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Request {
  readonly urls: ReadonlyArray<string>
  /** The client's name for it; half of the clients give none. */
  readonly key: string | undefined
}

/** One process, from its start to its violent end. */
interface Life {
  readonly url: string
  /** The hosts whose figures it is known to have in memory. */
  readonly known: Set<string>
  isOver: boolean
}

const crashOn = async (
  databaseUrl: string,
  vendorUrl: string,
  folder: string,
  options: Options,
): Promise<Outcome> => {
  const program = programOn({
    cwd: folder,
    ...(options.program !== undefined && { main: options.program }),
    settings: {
      AUTHORITY_DATABASE_URL: databaseUrl,
      ...FakeMoz.settings(vendorUrl),
      AUTHORITY_REQUEST_TIMEOUT: `${requestTimeoutMs}ms`,
    },
  })
  const apiKey = await program.newKey("load")

  /** Credits by the id of each request that was answered. */
  const acknowledged = new Map<string, number>()
  /** What had no answer when its process was killed. */
  const inFlight: Array<Request> = []
  let [atOnce, inTwoSteps] = [0, 0]

  const send = async (url: string, { key, urls }: Request) => {
    const response = await fetch(`${url}/v1/metrics/da-pa/batch`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-api-key": apiKey,
        ...(key === undefined ? {} : { "idempotency-key": `"${key}"` }),
      },
      body: JSON.stringify({ urls }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    const { creditsUsed } = decodeBatch(JSON.parse(text)).quota
    const isReplay = response.headers.get("idempotent-replayed") === "true"
    if (!isReplay) acknowledged.set(response.headers.get("x-request-id") ?? "", creditsUsed)
    return { isReplay, creditsUsed }
  }

  /** Named requests and new hosts take two steps; the same hosts again, unnamed, take one. */
  const ask = async (life: Life, request: Request) => {
    const isKnown = request.urls.every((host) => life.known.has(host))
    const isNew = request.urls.some((host) => host.startsWith("new-"))
    const { creditsUsed } = await send(life.url, request)
    if (request.key !== undefined || isNew) inTwoSteps++
    else if (isKnown) atOnce++
    if (creditsUsed === request.urls.length) request.urls.forEach((host) => life.known.add(host))
  }

  const client = async (index: number, life: Life) => {
    for (let i = 0; !life.isOver; i++) {
      const urls = Array.from({ length: 1 + (i % 3) }, (_, n) => `site-${n}.example.com`)
      const request: Request = {
        urls: i % 8 === 7 ? [...urls, `new-${randomUUID()}.example.com`] : urls,
        key: index % 2 === 0 ? randomUUID() : undefined,
      }
      try {
        await ask(life, request)
      } catch (error) {
        if (error instanceof assert.AssertionError || !life.isOver) throw error
        inFlight.push(request)
      }
    }
  }

  const live = async (isLast: boolean) => {
    const running = await program.serve()
    const life: Life = { url: running.url, known: new Set(), isOver: false }
    const clients = Promise.all(
      Array.from({ length: clientsPerProcess }, (_, i) => client(i, life)),
    )
    // Somewhere between the first requests and the thick of it.
    await Promise.race([clients, sleep(50 + Math.random() * 1500)])
    // However few the rounds and slow the machine, each way to be charged is gone once.
    while (isLast && (atOnce === 0 || inTwoSteps === 0)) await Promise.race([clients, sleep(20)])
    life.isOver = true
    await running.kill()
    await clients
  }

  const processes = options.database === "postgres" ? 2 : 1
  for (let round = 0; round < options.rounds; round++) {
    const isLast = round === options.rounds - 1
    await Promise.all(Array.from({ length: processes }, () => live(isLast)))
  }

  const heldAtLast = await program.held("load")
  const running = await program.serve()
  let collected = 0
  try {
    await heldIsReturned(program, returnMs)
    // By now nobody else has the key: each is charged, either then or now.
    for (const request of inFlight.filter(({ key }) => key !== undefined)) {
      const { creditsUsed, isReplay } = await send(running.url, request)
      if (isReplay && creditsUsed > 0) collected++
    }
  } finally {
    await running.kill()
  }

  const charges = await program.charges("load")
  const charged = new Map(charges)
  assert.equal(charged.size, charges.length, "a request was charged twice")
  for (const [requestId, credits] of acknowledged) {
    // What nobody answered in time is told of as well, and costs nothing.
    assert.equal(
      charged.get(requestId) ?? 0,
      credits,
      `request ${requestId} was told of ${credits}`,
    )
  }
  const paid = [...acknowledged.values()].filter((credits) => credits > 0)
  const unacknowledged = charged.size - paid.length
  const unnamed = inFlight.filter(({ key }) => key === undefined).length
  assert(unacknowledged >= collected, "an answer was collected that was not charged")
  assert(unacknowledged <= collected + unnamed, "more was charged than was in flight")
  return {
    kills: options.rounds * processes,
    acknowledged: acknowledged.size,
    atOnce,
    inTwoSteps,
    inFlight: inFlight.length,
    unacknowledged,
    collected,
    heldAtLast,
  }
}

const decodeBatch = Schema.decodeUnknownSync(BatchResponse)

const heldIsReturned = async (program: Program, withinMs: number) => {
  const end = performance.now() + withinMs
  for (;;) {
    const held = await program.held("load")
    if (held === 0) return
    assert(performance.now() < end, `${held} credits of killed processes are still held`)
    await sleep(500)
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "200" },
      database: { type: "string", default: "sqlite" },
    },
  })
  const { database } = values
  if (database !== "sqlite" && database !== "postgres") {
    throw new Error("--database is sqlite or postgres")
  }
  const outcome = await crash({ rounds: Number(values.rounds), database })
  console.log(`${database}: nothing is lost`, outcome)
}
