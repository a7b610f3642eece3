/**
 * Tests the budget of an API key on two replicas of the program and one PostgreSQL: 500 concurrent
 * requests against a budget of 200 credits. Half of the targets fail at the provider. In the last of
 * `--rounds` rounds, a replica is killed with SIGKILL and started again. Then exactly the rest of the
 * budget can be spent. Fails when a key spends more, a request is refused although there was room
 * for it, a charge is lost or doubled, or a credit stays held.
 */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Schema from "effect/Schema"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Postgres from "./support/Postgres.ts"
import { withVendor } from "./support/withVendor.ts"
import { type Program, programOn } from "./program.ts"
import * as Traffic from "./traffic.ts"

const credits = 200
const requests = 500
/** Longer than the lease of a killed replica's holds. */
const patienceMs = 90_000

/** The vendor answers after 20 to 120 ms, with an error for half of the targets. */
const half = FakeMoz.siteError((page) => page.startsWith("fails-"))
const vendorFault = {
  name: "half of the targets fail",
  apply: (...call: Parameters<typeof half.apply>) =>
    void setTimeout(() => half.apply(...call), 20 + Math.random() * 100),
}

type Replicas = Array<Awaited<ReturnType<Program["serve"]>>>

const runRound = async (program: Program, replicas: Replicas, round: number, isKill: boolean) => {
  await untilMidnightIsFar()
  const account = `round-${round}`
  await program.verb("account", "create", account, "--credits", "100000")
  const budget = ["--account", account, "--budget", `${credits}/day`]
  const apiKey = decodeKey(await program.verb("key", "create", ...budget)).key
  const urls = replicas.map(({ url }) => url)
  const send = (
    clients: number,
    count: number,
    targets: (index: number) => ReadonlyArray<string>,
  ) => Traffic.run({ urls, apiKey, clients, targets, patienceMs, goesOn: (sent) => sent < count })
  const works = () => [`works-${randomUUID()}.example.com`]
  const fails = () => [`fails-${randomUUID()}.example.com`]

  const crowd = send(requests, requests, (i) => (i % 4 < 2 ? fails() : works()))
  if (isKill) {
    await sleep(300 + Math.random() * 700)
    await replicas[0]?.kill()
    replicas[0] = await program.serve()
    urls[0] = replicas[0].url
  }
  const first = await crowd
  const endsAt = performance.now() + patienceMs
  while ((await program.held(account)) > 0) {
    assert(performance.now() < endsAt, "credits stay held")
    await sleep(500)
  }
  const spent = sumOf(await program.charges(account))
  const isRefused = first.some(({ statuses }) => statuses.at(-1) === 402)
  assert(!isRefused || spent === credits, `a request was refused with ${spent} credits spent`)

  const rest = await send(1, credits - spent, works)
  const [above] = await send(1, 1, works)
  assert.deepEqual(above?.statuses, [402])
  const charges = await program.charges(account)
  assert.equal(sumOf(charges), credits)
  const { acknowledged, doubled, failures, lost } = Traffic.tally([...first, ...rest], charges)
  assert.deepEqual({ doubled, lost }, { doubled: 0, lost: 0 })
  console.log(`round ${round}:`, JSON.stringify({ isKill, acknowledged, spent, failures }))
}

const sumOf = (charges: ReadonlyArray<readonly [requestId: string, credits: number]>) =>
  charges.reduce((sum, [, charge]) => sum + charge, 0)

const decodeKey = Schema.decodeUnknownSync(Schema.Struct({ key: Schema.String }))

/** Waits if midnight UTC is near, because daily budgets reset then. */
const untilMidnightIsFar = async () => {
  const leftMs = 86_400_000 - (Date.now() % 86_400_000)
  if (leftMs < 180_000) await sleep(leftMs + 1000)
}

const { values } = parseArgs({ options: { rounds: { type: "string", default: "10" } } })
const rounds = Number(values.rounds)
await withVendor("budgets", async (vendor, folder) => {
  vendor.always(vendorFault)
  const server = await Postgres.start({ durable: true })
  const program = programOn({
    cwd: folder,
    settings: {
      AUTHORITY_DATABASE_URL: `${server.url}/postgres`,
      ...FakeMoz.settings(vendor.url),
    },
  })
  const replicas: Replicas = []
  try {
    replicas.push(await program.serve(), await program.serve())
    for (let round = 1; round <= rounds; round++) {
      await runRound(program, replicas, round, round === rounds)
    }
  } finally {
    await Promise.all(replicas.map(({ kill }) => kill()))
    await server.destroy()
  }
})
