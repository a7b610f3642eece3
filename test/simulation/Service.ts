/**
 * One replica of the service on the shared file: everything of `server/Composition.ts` except HTTP.
 * A replica starts again after a crash. Each start makes a new process of the world.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as HashSet from "effect/HashSet"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as AuthorityCheck from "../../src/check/AuthorityCheck.ts"
import * as Batch from "../../src/check/Batch.ts"
import * as CachedApiKeys from "../../src/accounts/CachedApiKeys.ts"
import * as sweeper from "../../src/server/sweeper.ts"
import {
  errorBody,
  InternalServerError,
  internalErrorMessage,
  Unauthorized,
} from "../../src/contract/Envelope.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { within } from "../../src/check/Deadline.ts"
import * as BatchAnswer from "../../src/http/BatchAnswer.ts"
import * as errorAnswer from "../../src/http/errorAnswer.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import { Exchange } from "../../src/providers/vendors/Exchange.ts"
import { RequestId } from "../../src/check/RequestId.ts"
import * as SqlAccounts from "../../src/accounts/SqlAccounts.ts"
import * as SqlApiKeys from "../../src/accounts/SqlApiKeys.ts"
import * as SqlCreditLedger from "../../src/ledger/SqlCreditLedger.ts"
import { ReconnectLimit } from "../../src/database/retry.ts"
import type { Bills } from "./Bills.ts"
import type { Faults } from "./Faults.ts"
import * as Store from "./FaultyStore.ts"
import type { Purchases } from "./Purchases.ts"
import * as Vendor from "./Vendor.ts"
import type { VendorWatch } from "./VendorWatch.ts"
import { never, type Process, type World } from "./World.ts"

/** Credits for each successful check. */
export const price = 2

/** How long a request may take. */
export const timeoutMs = 3000

/** The lease of a hold. */
export const leaseMs = 15_000

/** How long a replica takes to start again after a crash. */
const restartMs = 400

export interface Ask {
  readonly apiKey: string
  readonly urls: ReadonlyArray<string>
  readonly idempotencyKey: string | undefined
  /** True to ask where each figure comes from. */
  readonly provenance?: boolean
  /**
   * The greatest age of figures that the client accepts (the header's `max-age`), in milliseconds.
   */
  readonly maxAgeMs?: number | undefined
}

export interface Answer {
  readonly status: number
  readonly body: string
  readonly isReplay: boolean
}

/** What a client sees of a request: an answer, or a connection that was closed. */
export type Reply = Answer | "closed"

/** A request that has reached a process. */
interface Connection {
  readonly reply: (reply: Reply) => void
}

type Services = ApiKeys | AuthorityCheck.AuthorityCheck | CreditLedger | MetricsProvider

/** A running process of a replica. */
interface Life {
  readonly process: Process
  readonly vendors: Vendor.Vendors
  readonly runtime: Runtime.Runtime<Services>
  readonly connections: Set<Connection>
}

interface Options {
  readonly world: World
  readonly faults: Faults
  readonly purchases: Purchases
  readonly bills: Bills
  readonly file: string
  /**
   * Runs everything that belongs to no replica: the network, the clients, and the restarts of
   * replicas.
   */
  readonly outside: Process
  readonly outage: () => Store.Outage | undefined
  readonly problem: (text: string) => void
  /**
   * Called for each request that reaches a process, with the request's id and the process's
   * vendors.
   */
  readonly onRequestId: (ask: Ask, requestId: RequestId, vendors: VendorWatch) => void
}

export class Replica {
  readonly name: string
  private life: Life | undefined
  private current: Process | undefined
  private closeFile: () => void = () => {}
  private lives = 0
  private requests = 0
  private readonly options: Options

  constructor(name: string, options: Options) {
    this.name = name
    this.options = options
    this.start()
  }

  get isUp(): boolean {
    return this.life !== undefined
  }

  /**
   * Sends a request over the simulated network, which takes `latencyMs` each way. Calls `callback`
   * once, unless the client hangs up first. To hang up, the client calls the returned function.
   */
  send(ask: Ask, latencyMs: number, callback: (reply: Reply) => void): () => void {
    const { outside, world } = this.options
    const { life } = this
    let isGone = false
    const reply = (reply: Reply) => {
      life?.connections.delete(connection)
      world.after(outside, latencyMs, () => {
        if (!isGone) callback(reply)
      })
    }
    const connection: Connection = { reply }
    if (life === undefined) reply("closed")
    else {
      life.connections.add(connection)
      world.after(life.process, latencyMs, () => this.handle(life, ask, connection))
    }
    return () => {
      isGone = true
      life?.connections.delete(connection)
    }
  }

  /** Runs an effect in the replica's current process. */
  run<A, E>(effect: Effect.Effect<A, E, Services>, callback: (exit: Exit.Exit<A, E>) => void) {
    if (this.life === undefined) return callback(Exit.die(new Error(`${this.name} is down`)))
    Runtime.runFork(this.life.runtime)(effect).addObserver(callback)
  }

  freeze(): void {
    this.current?.freeze()
  }

  thaw(): void {
    this.current?.thaw()
  }

  /** Sets how far the replica's clock is ahead. */
  setClock(aheadMs: number): void {
    if (this.current !== undefined) this.current.clockAheadMs = aheadMs
    this.life?.vendors.watch.forgetKnown()
  }

  /** Ends the process at once, and starts another one later. */
  crash(): void {
    const { faults, outside, world } = this.options
    const { closeFile, current, life } = this
    if (current === undefined) return
    current.kill()
    faults.trouble(restartMs)
    this.life = undefined
    this.current = undefined
    world.note(this.name, "ends")
    // Closes the file in a later step, because the process may be in the middle of a statement.
    world.after(outside, 0, () => {
      closeFile()
      for (const connection of life?.connections ?? []) connection.reply("closed")
    })
    world.after(outside, restartMs, () => this.start())
  }

  /** Stops the replica for good. */
  close(): void {
    this.current?.kill()
    this.current = undefined
    this.closeFile()
  }

  private start(): void {
    const { bills, faults, file, outage, problem, purchases, world } = this.options
    this.lives++
    const process = world.process(`${this.name}.${this.lives}`)
    this.current = process
    const fileScope = Effect.runSync(Scope.make())
    let afterCrash = () => {}
    this.closeFile = () => {
      afterCrash()
      Effect.runSync(Scope.close(fileScope, Exit.void))
    }
    const requestTimeoutMs = timeoutMs
    const vendors = Vendor.make({
      world,
      process,
      faults,
      purchases,
      bills,
      requestTimeoutMs,
      problem,
    })

    const main = Effect.gen(this, function* () {
      const store = yield* Layer.buildWithScope(Store.layer(file), fileScope)
      const faulty = Store.injectFaults({
        world,
        process,
        faults,
        outage,
        problem,
        crash: () => this.crash(),
      })
      const injected = yield* Effect.provide(faulty, store)
      afterCrash = injected.afterCrash
      const database = Layer.succeedContext(store)
      const context = yield* Layer.build(Layer.provide(service(vendors), database))
      const runtime = yield* Effect.provide(Effect.runtime<Services>(), context)
      this.life = { process, vendors, runtime, connections: new Set() }
      world.note(process.name, "is up")
      return yield* never
    }).pipe(
      Effect.scoped,
      Effect.provideService(ReconnectLimit, { limit: Duration.millis(timeoutMs + 10_000) }),
      Effect.provideService(Exchange, vendors.exchange),
      Effect.withTracerEnabled(false),
      Effect.locally(FiberRef.currentMinimumLogLevel, LogLevel.Warning),
      Effect.locally(FiberRef.currentLoggers, HashSet.make(this.logger(process))),
    )
    process.fork(main).addObserver((exit) => {
      // The process may fail to start while another one has the file locked.
      world.note(process.name, `did not start: ${Exit.isFailure(exit) ? exit.cause._tag : ""}`)
      if (this.current === process) this.crash()
    })
  }

  /** Writes the process's log to the recorded trace. */
  private logger(process: Process) {
    const { notes } = this.options.world
    return Logger.make(({ cause, message }) => {
      notes?.push(`${" ".repeat(12)}${process.name} logs: ${message} ${Cause.pretty(cause)}`)
    })
  }

  /** Handles a request like `http/handlers.ts`. */
  private handle(life: Life, ask: Ask, connection: Connection): void {
    const id = RequestId.make(`${this.name}-${this.requests++}`)
    this.options.onRequestId(ask, id, life.vendors.watch)
    const fiber = Runtime.runFork(life.runtime)(handled(ask, id))
    fiber.addObserver((exit) => {
      if (Exit.isSuccess(exit)) connection.reply(exit.value)
    })
  }
}

/** The layers of `server/Composition.ts`, without HTTP. */
const service = (vendors: Vendor.Vendors) =>
  Layer.merge(AuthorityCheck.layer({ price: Credits.make(price) }), sweeper.layer).pipe(
    Layer.provideMerge(CachedApiKeys.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        SqlAccounts.layer,
        SqlApiKeys.layer,
        SqlCreditLedger.layer({ lease: leaseMs }),
      ),
    ),
    Layer.provideMerge(vendors.layer),
  )

/** What the server does with a batch: the key, the use case, and the errors of the contract. */
const handled = (ask: Ask, requestId: RequestId) =>
  Effect.gen(function* () {
    const { check } = yield* AuthorityCheck.AuthorityCheck
    const { authenticate } = yield* ApiKeys
    const { accountId, id: apiKeyId } = yield* authenticate(Redacted.make(ask.apiKey))
    const { idempotencyKey, maxAgeMs, provenance: wantsSources, urls } = ask
    const asked = { accountId, apiKeyId, requestId, idempotencyKey, wantsSources, maxAgeMs }
    const report = yield* check({ ...Batch.parse(urls), ...asked })
    const body = JSON.stringify(BatchAnswer.of(report))
    return { status: 200, body, isReplay: report.isReplay }
  }).pipe(
    Effect.catchTag("HoldExpired", Effect.die),
    Effect.catchAll((error) => {
      if (error._tag === "InvalidApiKey")
        return Effect.succeed(answerOf(new Unauthorized({ message: error.message })))
      const refused = errorAnswer.errorOf(error, { ...ask, requestId })
      return Effect.succeed(answerOf(refused))
    }),
    Effect.catchAllCause((cause) => {
      if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
      const internal = new InternalServerError({ message: internalErrorMessage })
      const log = Effect.logError(
        "The request failed with status 500. If the database works, please report the stack trace that the field 'cause' contains.",
        cause,
      )
      return Effect.as(log, answerOf(internal))
    }),
    within(timeoutMs),
  )

const answerOf = ({
  message,
  status,
}: Pick<Answer, "status"> & { readonly message: string }): Answer => ({
  status,
  body: JSON.stringify(errorBody(message)),
  isReplay: false,
})
