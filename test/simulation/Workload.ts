/** The requests of a seed, and the clients that send them and repeat them. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import type { Faults } from "./Faults.ts"
import { Random } from "./Random.ts"
import type { Ask, Replica, Reply } from "./Service.ts"
import type { Customer, Template } from "./Template.ts"
import { settingsOf } from "./Vendor.ts"
import type { Witness } from "./Witness.ts"
import type { World } from "./World.ts"

/** One request of a client, which may repeat it. */
interface Planned {
  readonly index: number
  readonly atMs: number
  readonly customer: Customer
  readonly urls: ReadonlyArray<string>
  readonly idempotencyKey: string | undefined
  readonly provenance: boolean
  readonly maxAgeMs: number | undefined
}

/**
 * There are few pages, so that requests share them. Pages of one host share the fallback's figures.
 */
export const pages = ["", "/a", "/b"].flatMap((path) =>
  ["one.example.com", "two.example.org", "www.three.example.net"].map((host) => host + path),
)

const drawUrls = (random: Random): ReadonlyArray<string> => {
  const some = Array.from({ length: random.between(1, 5) }, () => pages[random.below(pages.length)])
  const urls = some.flatMap((page) => (page === undefined ? [] : [`https://${page}`]))
  return random.chance(0.1) ? [...urls, "localhost"] : urls
}

/**
 * Draws the requests of the first `lengthMs`. Some come in bursts, and some soon ask again for the
 * URLs of another request.
 */
export const plan = (world: World, { customers }: Template, lengthMs: number) => {
  const random = new Random(world.seed, 303)
  const preferences = new Random(world.seed, 304)
  const { hasMaxAge } = settingsOf(world)
  const bursts = [random.below(lengthMs), random.below(lengthMs), random.below(lengthMs)] as const
  const keyed = random.pick([0.3, 0.6, 0.9])
  const planned: Array<Planned> = []
  const length = random.between(4, 18)
  for (let index = 0; index < length; index++) {
    const isInBurst = random.chance(0.6)
    const former = random.chance(0.4) ? planned.at(-1) : undefined
    const atMs = isInBurst ? random.pick(bursts) + random.below(30) : random.below(lengthMs)
    planned.push({
      index,
      atMs: former === undefined ? atMs : former.atMs + random.below(1500),
      customer: random.pick(customers),
      urls: former?.urls ?? drawUrls(random),
      idempotencyKey: random.chance(keyed) ? `key-${index}` : undefined,
      provenance: preferences.chance(0.7),
      maxAgeMs: hasMaxAge && preferences.chance(0.4) ? preferences.below(4) * 1000 : undefined,
    })
  }
  return planned
}

interface Clients {
  readonly world: World
  readonly faults: Faults
  readonly witness: Witness
  readonly replicas: readonly [Replica, ...ReadonlyArray<Replica>]
}

/** Sends a request once. Hangs up after `patienceMs` and then returns undefined. */
export const send = (
  { witness }: Pick<Clients, "witness">,
  name: string,
  customer: Customer,
  ask: Ask,
  replica: Replica,
  options: { readonly latencyMs?: number; readonly patienceMs?: number | undefined } = {},
): Effect.Effect<Reply | undefined> =>
  Effect.suspend(() => {
    const attempt = witness.begins(name, customer, ask, replica)
    const reply = Effect.async<Reply>((resume) => {
      const hangUp = replica.send(ask, options.latencyMs ?? 1, (reply) => {
        witness.ends(attempt, reply)
        resume(Effect.succeed(reply))
      })
      return Effect.sync(() => {
        hangUp()
        if (attempt.endedAt === undefined) witness.ends(attempt, undefined)
      })
    })
    if (options.patienceMs === undefined) return reply
    return Effect.map(Effect.timeoutOption(reply, options.patienceMs), Option.getOrUndefined)
  })

/**
 * Grants credits from time to time while the clients send their requests. Tries each grant only
 * once.
 */
export const operator = (
  { replicas, witness, world }: Clients,
  { customers }: Template,
  lengthMs: number,
): Effect.Effect<void> => {
  const random = new Random(world.seed, 305)
  const grant = (number: number) =>
    Effect.sync(() => {
      const customer = random.pick(customers)
      const note = `grant ${number}`
      const isDone = witness.beginsGrant(customer, note)
      random.pick(replicas).run(
        Effect.flatMap(CreditLedger, ({ grant }) => grant(customer.id, Credits.make(2), note)),
        (exit) => Exit.isSuccess(exit) && isDone(),
      )
    }).pipe(Effect.delay(random.below(lengthMs)))
  const grants = Array.from({ length: random.below(4) }, (_, number) => grant(number))
  return Effect.all(grants, { concurrency: "unbounded", discard: true })
}

/**
 * Runs a client, which repeats a request with a key until an answer comes, and any request after a
 * 503.
 */
export const client = (clients: Clients, planned: Planned): Effect.Effect<void> => {
  const { faults, replicas, world } = clients
  const { customer, idempotencyKey, index, maxAgeMs, provenance } = planned
  const random = new Random(world.seed, 1000 + index)
  let attempts = 0

  const attempt = (urls: ReadonlyArray<string>) => {
    const { apiKey } = customer
    const ask: Ask = { apiKey, urls: [...urls], idempotencyKey, provenance, maxAgeMs }
    const name = `request ${index}.${attempts++}`
    const patienceMs = faults.strikes("client: hangs up", name) ? random.below(800) : undefined
    const options = { latencyMs: random.between(0, 5), patienceMs }
    return send(clients, name, customer, ask, random.pick(replicas), options)
  }

  const untilAnswered = (urls: ReadonlyArray<string>): Effect.Effect<void> =>
    Effect.flatMap(attempt(urls), (reply) =>
      isFinal(reply, idempotencyKey)
        ? Effect.void
        : Effect.delay(untilAnswered(urls), random.between(20, 1500)),
    )

  return Effect.gen(function* () {
    yield* Effect.sleep(planned.atMs)
    const others: Array<Fiber.RuntimeFiber<void>> = []
    const fork = (urls: ReadonlyArray<string>) =>
      Effect.map(
        Effect.fork(Effect.delay(untilAnswered(urls), random.below(150))),
        (fiber) => void others.push(fiber),
      )
    if (idempotencyKey !== undefined) {
      const name = `request ${index}`
      if (faults.strikes("client: repeats while the first request is in progress", name)) {
        yield* fork(planned.urls)
      }
      if (faults.strikes("client: sends another body with the same key", name)) {
        yield* fork([...planned.urls, "https://other.example.com"])
      }
    }
    yield* untilAnswered(planned.urls)
    yield* Effect.forEach(others, (fiber) => Fiber.join(fiber), { discard: true })
  })
}

/** A client repeats what was certainly not charged, and everything that has a key. */
const isFinal = (reply: Reply | undefined, idempotencyKey: string | undefined): boolean => {
  if (reply === undefined || reply === "closed") return idempotencyKey === undefined
  if (reply.status === 503 || reply.status === 409) return false
  return reply.status !== 500 || idempotencyKey === undefined
}
