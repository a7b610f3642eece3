/**
 * Runs one seed. Replicas, clients and faults run for some seconds. Then the faults end and the
 * calm begins, in which every request, hold and circuit must come to its end, and the books must
 * add up.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { BatchResponse } from "../../src/contract/Api.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { type Circuit, MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import { type Event, Faults, maxJumpMs } from "./Faults.ts"
import { Random } from "./Random.ts"
import { leaseMs, Replica } from "./Service.ts"
import type { Outage } from "./FaultyStore.ts"
import { Bills } from "./Bills.ts"
import { Purchases } from "./Purchases.ts"
import type { Template } from "./Template.ts"
import { ceilingOf, knownMsOf } from "./Vendor.ts"
import * as Workload from "./Workload.ts"
import { Witness } from "./Witness.ts"
import { Stuck, World } from "./World.ts"
import { wrongSums } from "./wrongSums.ts"

/**
 * For how many milliseconds after trouble a replica may buy what another one buys: the cache skips
 * the store for a while after a failure, and a call may take all the time of a request.
 */
const excusedMs = 12_000

interface Options {
  /** True to keep the notes of everything that happens, so that they can be printed. */
  readonly record?: boolean
  /** The numbers of the only requests to send (default: all). */
  readonly only?: ReadonlySet<number>
  /**
   * True if the store sometimes fails with error 40001. By default, it does so in three of ten
   * seeds.
   */
  readonly conflicts?: boolean
}

export interface Result {
  readonly seed: number
  /** The violated promises. Empty if the seed passes. */
  readonly problems: ReadonlyArray<string>
  /** A hash of everything that happened. */
  readonly trace: number
  readonly steps: number
  readonly simulatedMs: number
  readonly counts: ReadonlyMap<string, number>
  /** The numbers of the requests that were sent. `Options.only` can select some of them. */
  readonly requests: ReadonlyArray<number>
  readonly notes: ReadonlyArray<string>
}

/**
 * How long after its first answer a client repeats an idempotency key. Answers are kept for 24
 * hours.
 */
const muchLaterMs = 23 * 60 * 60 * 1000

export const simulate = (template: Template, seed: number, options: Options = {}): Result => {
  const world = new World(seed, options)
  const random = new Random(seed, 404)
  const lengthMs = random.between(2000, 9000)
  const problems = new Set<string>()
  const problem = (text: string) => {
    if (!problems.has(text)) world.note("PROBLEM", text)
    problems.add(text)
  }
  const faults = new Faults(world, lengthMs, options.conflicts ?? false)
  const witness = new Witness(world, faults, problem)
  const knownMs = knownMsOf(world)
  const purchases = new Purchases({ world, faults, knownMs, excusedMs, problem })
  const outside = world.process("clients")
  const file = template.copy()
  const bills = new Bills({
    world,
    faults,
    file,
    ceilingOf: (provider) => ceilingOf(world, provider),
  })
  let outage: Outage | undefined
  const replicaOptions = {
    world,
    faults,
    purchases,
    bills,
    file,
    outside,
    problem,
    outage: () => (outage !== undefined && world.now < outage.until ? outage : undefined),
    onRequestId: witness.hasId.bind(witness),
  }
  const first = new Replica("A", replicaOptions)
  const others = ["B", "C"]
    .slice(0, random.pick([0, 0, 0, 1, 1, 2]))
    .map((name) => new Replica(name, replicaOptions))
  const replicas = [first, ...others] as const

  /**
   * When the last event of each kind ends on each replica, in `World.now` milliseconds. Keyed by
   * replica and kind.
   */
  const eventsEnd = new Map<string, number>()
  const strike = (event: Event) => {
    const replica = random.pick(replicas)
    const ms = event === "freeze past the lease" ? leaseMs + 3000 : random.between(500, 5000)
    const isStoreOut = event.startsWith("outage")
    faults.happens(event, isStoreOut ? "store" : replica.name)
    const key = `${replica.name} ${event.split(" ")[0]}`
    eventsEnd.set(key, Math.max(eventsEnd.get(key) ?? 0, world.now + ms))
    const during = (start: () => void, end: () => void) => {
      start()
      faults.stall(ms)
      world.after(outside, ms, () => {
        // A later event of the same kind may last longer.
        if (world.now >= (eventsEnd.get(key) ?? 0)) end()
      })
    }
    switch (event) {
      case "crash":
        return replica.crash()
      case "freeze":
      case "freeze past the lease":
        return during(
          () => replica.freeze(),
          () => replica.thaw(),
        )
      case "clock jumps forward":
      case "clock jumps back": {
        const jumpMs = random.between(1000, maxJumpMs)
        return during(
          () => replica.setClock(event === "clock jumps forward" ? jumpMs : -jumpMs),
          () => replica.setClock(0),
        )
      }
      case "outage: the store refuses connections":
      case "outage: the store stops answering":
        faults.trouble(ms)
        outage = { kind: event.endsWith("answering") ? "hangs" : "refuses", until: world.now + ms }
    }
  }
  for (const { atMs, event } of faults.events) world.after(outside, atMs, () => strike(event))

  const planned = Workload.plan(world, template, lengthMs)
  const kept = planned.filter(({ index }) => options.only?.has(index) ?? true)
  const main = Effect.gen(function* () {
    const clients = { world, faults, witness, replicas }
    yield* Effect.fork(Workload.operator(clients, template, lengthMs))
    const fibers = yield* Effect.forEach(kept, (planned) =>
      Effect.fork(Workload.client(clients, planned)),
    )
    yield* Effect.sleep(lengthMs)
    faults.stop()
    yield* Effect.sleep(Math.max(0, ...eventsEnd.values()) - world.now)
    const answered = Effect.forEach(fibers, (fiber) => Fiber.join(fiber), { discard: true })
    yield* within(60_000, answered, () =>
      witness.unanswered.forEach(({ name }) => problem(`${name} is not answered`)),
    )
    // A slow statement or COMMIT that began earlier may still be running after all answers have
    // come.
    yield* Effect.sleep(Math.max(0, faults.troubleAt - world.now))
    // Once trouble is long enough ago, it excuses no purchase in the calm.
    if (others.length > 0) yield* Effect.sleep(faults.troubleAt + excusedMs + 1 - world.now)
    yield* calm({ world, faults, witness, bills, file, replicas, template, problem })
  })

  let isOver = false
  outside.fork(Effect.withTracerEnabled(main, false)).addObserver((exit) => {
    if (Exit.isFailure(exit)) problem(`the simulation broke: ${exit.cause}`)
    isOver = true
  })
  const { stackTraceLimit } = Error
  // Faults cause many errors, whose stack traces would take a sixth of the time.
  if (options.record !== true) Error.stackTraceLimit = 0
  try {
    world.run(() => isOver || problems.size > 0)
  } catch (error) {
    if (!(error instanceof Stuck)) throw error
    problem(error.message)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    for (const replica of replicas) replica.close()
    bills.close()
    template.remove(file)
  }
  return {
    seed,
    problems: [...problems],
    trace: world.trace,
    steps: world.steps,
    simulatedMs: world.elapsedMs,
    counts: world.counts,
    requests: kept.map(({ index }) => index),
    notes: world.notes ?? [],
  }
}

interface Calm {
  readonly world: World
  readonly faults: Faults
  readonly witness: Witness
  readonly bills: Bills
  readonly file: string
  readonly replicas: readonly [Replica, ...ReadonlyArray<Replica>]
  readonly template: Template
  readonly problem: (text: string) => void
}

/** Checks, after the last fault, that everything works again and that the books add up. */
const calm = ({ bills, faults, file, problem, replicas, template, witness, world }: Calm) =>
  Effect.gen(function* () {
    const { customers } = template
    const [ledger] = replicas
    const inLedger = <A>(
      use: (ledger: CreditLedger["Type"]) => Effect.Effect<A, unknown, ApiKeys>,
    ) =>
      Effect.async<A>((resume) =>
        ledger.run(Effect.orDie(Effect.flatMap(CreditLedger, use)), (exit) => resume(exit)),
      )
    const areUp = Effect.sync(() => replicas.every(({ isUp }) => isUp))
    yield* within(10_000, until(areUp), () => problem("a replica does not start"))

    const held = Effect.reduce(customers, 0, (sum, { id }) =>
      Effect.map(
        inLedger(({ balance }) => balance(id)),
        ({ held }) => sum + held,
      ),
    )
    const isReleased = Effect.map(held, (held) => held === 0)
    const longestMs = leaseMs + faults.lateLeaseMs + 10_000
    yield* within(longestMs, until(isReleased), () => problem("a hold does not end"))

    // A vendor at its ceiling is not asked for some minutes, or until the month ends.
    const isUsable = ({ isExhausted, isPaused, openReason, provider }: Circuit) =>
      (openReason === undefined && !isPaused) || (isExhausted && bills.isAtCeiling(provider, 1))
    const circuits = (replica: Replica) =>
      Effect.async<boolean>((resume) =>
        replica.run(
          Effect.flatMap(MetricsProvider, ({ circuits }) => circuits),
          (exit) => resume(Effect.map(exit, (all) => all.every(isUsable))),
        ),
      )
    const areUsable = Effect.map(Effect.forEach(replicas, circuits), (all) => all.every(Boolean))
    yield* within(40_000, until(areUsable), () => problem("a circuit does not close"))

    for (const { id } of customers) {
      yield* inLedger(({ grant }) => grant(id, Credits.make(10_000), null))
    }
    for (const { budget } of customers) {
      if (budget === undefined) continue
      const raised = { credits: Credits.make(10_000), period: "day" as const }
      yield* inLedger(() =>
        Effect.flatMap(ApiKeys, (keys) => keys.update(budget.key, { budget: raised })),
      )
    }
    // The first request may be the probe of a circuit that was open.
    for (const replica of replicas)
      yield* lastRequest(replica, 0, [`trial-${replica.name}.example.com`])
    const fresh = ["fresh.example.com/1", "fresh.example.com/2"]
    yield* Effect.forEach(
      replicas.flatMap((replica) => [1, 2, 3].map((number) => ({ replica, number }))),
      ({ number, replica }) =>
        lastRequest(replica, number, number % 2 === 0 ? fresh : [...Workload.pages, ...fresh]),
      { concurrency: "unbounded", discard: true },
    )

    function lastRequest(replica: Replica, number: number, pages: ReadonlyArray<string>) {
      return Effect.gen(function* () {
        const customer = customers[number % customers.length] ?? customers[0]
        const name = `last request ${replica.name}.${number}`
        const ask = {
          apiKey: customer.apiKey,
          urls: pages.map((page) => `https://${page}`),
          idempotencyKey: number < 3 ? undefined : `last-${replica.name}-${number}`,
        }
        const reply = yield* Workload.send({ witness }, name, customer, ask, replica)
        if (reply === undefined || reply === "closed" || reply.status !== 200) {
          problem(`${name} is not served in the calm`)
          return
        }
        if (decodeBatch(reply.body).data.failedUrls.length > 0) {
          problem(`${name} gets failures in the calm: ${reply.body}`)
        }
      })
    }

    world.sleep(muchLaterMs)
    // After the long sleep, each process records that it is running, and deletes what has expired.
    yield* Effect.sleep("5 seconds")
    for (const { ask, customer, name } of witness.answeredKeys) {
      const later = `${name}, hours later`
      const reply = yield* Workload.send({ witness }, later, customer, { ...ask }, ledger)
      if (reply === undefined || reply === "closed" || !reply.isReplay) {
        problem(`${later} does not get its stored answer`)
      }
    }

    if ((yield* held) > 0) problem("credits are held after the last answer")
    const { problems } = yield* inLedger(({ verify }) => verify)
    problems.forEach(problem)
    wrongSums(file).forEach(problem)
    for (const customer of customers) {
      const entries = yield* inLedger(({ statement }) =>
        Stream.runCollect(statement(customer.id, {})),
      )
      witness.audit(customer, Chunk.toReadonlyArray(entries))
    }
    const areCounted = Effect.sync(() => bills.audit().length === 0)
    yield* within(10_000, until(areCounted), () => bills.audit().forEach(problem))
    world.note("clients", "all is well")
  })

const decodeBatch = Schema.decodeUnknownSync(Schema.parseJson(BatchResponse))

/** Waits until the condition holds, and checks it five times a second. */
const until = (condition: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.repeat(condition, { until: (holds) => holds, schedule: Schedule.spaced("200 millis") }),
  )

const within = <A>(ms: number, effect: Effect.Effect<A>, otherwise: () => void) =>
  Effect.timeoutTo(effect, {
    duration: ms,
    onSuccess: () => Effect.void,
    onTimeout: () => Effect.sync(otherwise),
  }).pipe(Effect.flatten)
