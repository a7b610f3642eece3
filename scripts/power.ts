/**
 * Tests power cuts. Records every write and fsync of the service's SQLite files under load. Then
 * rebuilds what a disk may hold after a power cut at a random moment: everything that was synced,
 * and a random part of the other writes, some of them torn. Starts the service on each rebuilt
 * database. Everything that was acknowledged to a client before the cut must be there. Needs Linux
 * and a C compiler.
 *
 *     node scripts/power.ts [--seconds 120] [--from SEED]
 */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { PCGRandom } from "effect/Utils"
import { Accounts } from "../src/accounts/Account.ts"
import { CreditLedger } from "../src/ledger/CreditLedger.ts"
import * as Fake from "../src/providers/Fake.ts"
import * as Service from "../src/server/Service.ts"
import * as Sqlite from "../src/database/Sqlite.ts"
import { programOn } from "./program.ts"
import { statement } from "./support/ledger.ts"
import { decodeBatch, postBatch } from "./support/postBatch.ts"
import * as Traffic from "./traffic.ts"

const clients = 8
const loadMs = 2500
const cutsPerRound = 60
const extraCredits = 7
/** How many of the last answered requests before a cut are repeated, if they have a key. */
const replays = 100
const sectorBytes = 512

/** One step of the recording, at its position in the recording in bytes. */
interface Step {
  readonly at: number
  readonly kind: string
  /** The part of the file's name after `authority.db`, or `/` for the folder. */
  readonly name: string
  readonly offset: number
  readonly bytes: Buffer
}

const decodeBalance = Schema.decodeUnknownSync(Schema.Struct({ granted: Schema.Int }))

/** A batch checks one of a few hosts, or twenty hosts that no earlier batch has checked. */
const targets = (index: number) =>
  index % 4 < 2
    ? [`site-${index % 9}.com`]
    : Array.from({ length: 20 }, () => `${randomUUID()}.com`)

/** Runs the service twice under load. The first run ends with a shutdown, the second with a kill. */
const recordLoad = async (folder: string, library: string) => {
  const recording = join(folder, "recording")
  const program = programOn({
    cwd: folder,
    settings: {
      LD_PRELOAD: library,
      RECORD: recording,
      RECORDED: join(folder, "authority.db"),
    },
  })
  const now = () => statSync(recording).size
  const apiKey = await program.newKey("load")
  // `at` is the size of the recording when the answer arrived.
  const grants: Array<{ at: number; granted: number }> = []
  const answers: Array<{ at: number; outcome: Traffic.Outcome }> = []
  const grant = async () => {
    const args = ["--account", "load", "--amount", String(extraCredits)]
    const { granted } = decodeBalance(await program.verb("credits", "grant", ...args))
    grants.push({ at: now(), granted })
  }
  const live = async (signal: "SIGTERM" | "SIGKILL") => {
    const { kill, url } = await program.serve()
    let isOver = false
    const load = Traffic.run({
      urls: [url],
      apiKey,
      clients,
      targets,
      patienceMs: 0,
      goesOn: () => !isOver,
      onOutcome: (outcome) => {
        if (outcome.creditsUsed !== undefined) answers.push({ at: now(), outcome })
        else assert(isOver && outcome.statuses.join() === "0", outcome.said)
      },
    })
    await Promise.race([load, Promise.all([grant(), sleep(loadMs)])])
    isOver = true
    if (signal === "SIGTERM") await load
    await kill(signal)
    await load
  }
  await grant()
  await live("SIGTERM")
  await live("SIGKILL")
  return { apiKey, grants, answers, steps: stepsOf(readFileSync(recording)) }
}

type Recording = Awaited<ReturnType<typeof recordLoad>>

const headBytes = 24

const stepsOf = (recording: Buffer) => {
  const steps: Array<Step> = []
  for (let at = 0; at + headBytes <= recording.length;) {
    const nameEnd = at + headBytes + recording.readUInt32LE(at + 4)
    const end = nameEnd + Number(recording.readBigUInt64LE(at + 16))
    steps.push({
      at,
      kind: String.fromCharCode(recording.readUInt32LE(at)),
      name: recording.toString("utf8", at + headBytes, nameEnd),
      offset: Number(recording.readBigUInt64LE(at + 8)),
      bytes: recording.subarray(nameEnd, end),
    })
    at = end
  }
  return steps
}

/** A list whose last part may be lost in a power cut. */
class Pending<A extends { readonly at: number }> {
  readonly synced: Array<A> = []
  pending: Array<A> = []
  /** Makes everything that happened before `at` durable. */
  sync(at: number) {
    this.synced.push(...this.pending.filter((one) => one.at < at))
    this.pending = this.pending.filter((one) => one.at >= at)
  }
}

type Content = Pending<Step>

/** Writes into the folder what a disk may hold when the power fails before `cut`. */
const cutPower = (steps: ReadonlyArray<Step>, cut: number, seed: number, folder: string) => {
  const random = new PCGRandom(seed)
  const names = new Pending<{ at: number; name: string; content: Content | undefined }>()
  const current = new Map<string, Content>()
  for (const step of steps) {
    const { at, kind, name, offset } = step
    if (at >= cut) break
    if (kind === "s") (name === "/" ? names : current.get(name))?.sync(offset)
    else if (kind === "u") {
      if (current.delete(name)) names.pending.push({ at, name, content: undefined })
    } else {
      const content = current.get(name) ?? new Pending<Step>()
      if (!current.has(name)) names.pending.push({ at, name, content })
      current.set(name, content)
      content.pending.push(step)
    }
  }
  const share = [0, 0.5, 0.9, 1][random.integer(4)] ?? 0
  const survives = () => random.number() < share
  const files = new Map<string, Content>()
  for (const { content, name } of [...names.synced, ...names.pending.filter(survives)]) {
    if (content === undefined) files.delete(name)
    else files.set(name, content)
  }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const [name, { pending, synced }] of files) {
    const file = openSync(join(folder, `authority.db${name}`), "w")
    for (const step of synced) write(file, step)
    for (const step of pending.filter(survives)) {
      const isTorn = random.number() < 0.2
      write(file, step, isTorn ? () => random.number() < 0.5 : undefined)
    }
    closeSync(file)
  }
}

/** Applies a step. A torn write has only the sectors for which `isKept` returns true. */
const write = (file: number, { bytes, kind, offset }: Step, isKept?: () => boolean) => {
  if (kind === "t") return ftruncateSync(file, offset)
  if (isKept === undefined) return void writeSync(file, bytes, 0, bytes.length, offset)
  for (let from = 0, to = 0; from < bytes.length; from = to) {
    to = Math.min(bytes.length, from + sectorBytes - ((offset + from) % sectorBytes))
    if (isKept()) writeSync(file, bytes, from, to - from, offset + from)
  }
}

const anHourLater = Object.assign(Clock.make(), {
  currentTimeMillis: Effect.sync(() => Date.now() + 3_600_000),
})

/**
 * Starts the service on the database in `folder`. Fails if anything that a client was told had
 * succeeded is missing.
 */
const check = (folder: string, cut: number, { answers, apiKey, grants }: Recording) =>
  Effect.gen(function* () {
    yield* Sqlite.examine(join(folder, "authority.db"))
    const ledger = yield* CreditLedger
    const { problems } = yield* ledger.verify
    assert.deepEqual(problems, [])
    const known = grants.filter(({ at }) => at <= cut)
    if (known.length === 0) return
    const { id } = yield* (yield* Accounts).find("load")
    const balance = yield* ledger.balance(id)
    for (const { granted } of known) assert(balance.granted >= granted, "a grant is lost")

    const { url } = yield* Service.Service
    const charges = (yield* statement(id)).flatMap(({ amount, kind, requestId }) =>
      kind === "charge" && requestId !== null ? [[requestId, amount] as const] : [],
    )
    const arrived = answers.filter(({ at }) => at <= cut).map(({ outcome }) => outcome)
    const { doubled, lost } = Traffic.tally(arrived, charges)
    assert.deepEqual({ doubled, lost }, { doubled: 0, lost: 0 })
    const send = (targets: ReadonlyArray<string>, key?: string) =>
      Effect.promise(async () => (await postBatch(url, apiKey, targets, key)).text())
    for (const { key, said, targets } of arrived.slice(-replays)) {
      if (key !== undefined)
        assert.equal(yield* send(targets, key), said, "a stored answer is lost")
    }
    yield* Effect.withClock(ledger.expire, anHourLater)
    assert.equal((yield* ledger.balance(id)).held, 0, "credits are held for ever")
    assert.equal(decodeBatch(yield* send(["fresh.com"])).quota.creditsUsed, 1)
  }).pipe(
    Effect.provide(
      Service.layer({
        provider: Fake.make().layer,
        settings: {
          AUTHORITY_PORT: "0",
          AUTHORITY_DATABASE_URL: `sqlite:${join(folder, "authority.db")}`,
        },
      }),
    ),
    Effect.provide(Logger.remove(Logger.defaultLogger)),
  )

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "120" },
    from: { type: "string", default: "1" },
  },
})
const end = performance.now() + Number(values.seconds) * 1000
const home = mkdtempSync(join(tmpdir(), "authority-power-"))
const library = join(home, "record-writes.so")
const source = join(import.meta.dirname, "record-writes.c")
execFileSync("cc", ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, source])

let [rounds, cuts, answered, recorded] = [0, 0, 0, 0]
for (let seed = Number(values.from); performance.now() < end; seed++, rounds++) {
  const folder = join(home, String(seed))
  mkdirSync(folder)
  const recording = await recordLoad(folder, library)
  const { steps } = recording
  answered += recording.answers.length
  recorded += steps.length
  for (let i = 0; i < cutsPerRound && performance.now() < end; i++, cuts++) {
    const stateSeed = seed * cutsPerRound + i
    const cut = steps[new PCGRandom(stateSeed).integer(steps.length)]?.at ?? 0
    const state = join(folder, "state")
    cutPower(steps, cut, stateSeed, state)
    try {
      await Effect.runPromise(Effect.scoped(check(state, cut, recording)))
    } catch (error) {
      // The check has changed the database, so rebuild it for whoever investigates the failure.
      cutPower(steps, cut, stateSeed, state)
      console.error(`SEED=${seed}, cut ${i} at ${cut}: the database is in ${state}`)
      throw error
    }
  }
  rmSync(folder, { recursive: true })
}
rmSync(home, { recursive: true })
console.log(
  `${cuts} power cuts in ${rounds} runs of ${recorded} recorded steps lost none of ${answered} answers`,
)
