/**
 * Runs the service inside another program, the host, which brings its own provider, stores or
 * settings.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Redacted from "effect/Redacted"
import { type AccountExists, AccountName, Accounts } from "../accounts/Account.ts"
import { ApiKeys } from "../accounts/ApiKeys.ts"
import { commitGraceMs, Deadline, waitUntil } from "../check/Deadline.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { Credits } from "../ledger/Credits.ts"
import { StoreTimeout } from "../ledger/StoreTimeout.ts"
import { type CannotListen, Listener } from "../http/NodeServer.ts"
import type { MetricsProvider } from "../providers/MetricsProvider.ts"
import type { Vendor } from "../providers/Vendor.ts"
import * as Settings from "../Settings.ts"
import type { StoreFailure } from "../database/StoreFailure.ts"
import * as Composition from "./Composition.ts"
import { decorated } from "./decorated.ts"
import { allInDatabase, type Stores } from "./Stores.ts"

export class Service extends Context.Tag("authority/Service")<
  Service,
  {
    /** The address that the service listens on, for example `http://127.0.0.1:8080`. */
    readonly url: string
    readonly port: number
  }
>() {}

// Where figures come from: either a vendor, which the service decorates, or a complete provider.
type Source<E> =
  | {
      /**
       * A vendor without decorators. The service adds cache, queue, timeout, retries and circuit
       * breaker, as the settings say.
       */
      readonly vendor: Layer.Layer<Vendor, E, Settings.Settings | Stores>
      readonly provider?: undefined
    }
  | {
      /**
       * A complete provider, such as a fallback chain or a fake provider. The service adds no
       * cache, queue, timeout, retries or circuit breaker.
       */
      readonly provider: Layer.Layer<MetricsProvider, E, Settings.Settings | Stores>
      readonly vendor?: undefined
    }

export type Options<EProvider = never, EStores = never> = Source<EProvider> & {
  /**
   * The stores. Default: all stores of `inDatabase`, in the database that the setting
   * AUTHORITY_DATABASE_URL names. To replace one of them, merge the others with your own layer.
   */
  readonly stores?: Layer.Layer<Stores, EStores, Settings.Settings>
  /** The settings by environment variable. Default: the environment of the process. */
  readonly settings?: Settings.Environment
}

export type Given = Service | Accounts | ApiKeys | CreditLedger

/** The errors with which the start can fail. Each has a one-line `message`. */
export type CannotStart = Settings.InvalidSetting | CannotListen | StoreFailure

/**
 * Runs the service inside the host, with the host's provider and, optionally, its stores. The
 * service uses the host's logger and tracer. When the scope of the layer closes, the service
 * finishes the requests in progress and then closes the stores.
 */
export const layer = <EProvider = never, EStores = never>({
  provider,
  settings = process.env,
  stores,
  vendor,
}: Options<EProvider, EStores>): Layer.Layer<Given, EProvider | EStores | CannotStart> =>
  Layer.provideMerge(
    listening,
    Composition.over<EProvider, Settings.Settings | Stores, EStores | StoreFailure, Stores>({
      provider: vendor === undefined ? provider : decorated(vendor),
      stores: stores === undefined ? allInDatabase : Layer.map(stores, withLedgerInTime),
    }),
  ).pipe(Layer.provide(Settings.from(settings)))

const withLedgerInTime = (stores: Context.Context<Stores>) =>
  Context.add(stores, CreditLedger, ledgerInTime(Context.get(stores, CreditLedger)))

const listening = Layer.effect(
  Service,
  Effect.map(Listener, ({ address }) => Service.of(address())),
)

type Ledger = CreditLedger["Type"]

/**
 * Limits how long a request waits for the host's ledger: a method that has not ended 1.5 s after
 * the Deadline fails with StoreTimeout, and continues in the background.
 */
export const ledgerInTime = (ledger: Ledger): Ledger => {
  return {
    ...ledger,
    balance: (account) => ended(ledger.balance(account), false),
    open: (hold) =>
      Effect.tapErrorTag(ended(ledger.open(hold), false), "StoreTimeout", () =>
        Effect.forkDaemon(ledger.release(hold)),
      ),
    settle: (hold, charge, answer) => ended(ledger.settle(hold, charge, answer), charge.amount > 0),
    charge: (hold, charge, answer) => ended(ledger.charge(hold, charge, answer), charge.amount > 0),
    budgets: (keys) => ended(ledger.budgets(keys), false),
  }
}

/** Longer than a method takes to fail by itself. */
const graceMs = commitGraceMs + 500

const ended = <A, E>(method: Effect.Effect<A, E>, mayCharge: boolean) =>
  Effect.flatMap(Deadline, (deadline) => waitUntil(deadline + graceMs)(method)).pipe(
    Effect.flatMap(Option.match({ onSome: Effect.succeed, onNone: () => timeout(mayCharge) })),
  )

const timeout = (mayCharge: boolean) => Effect.fail(new StoreTimeout({ mayCharge }))

/**
 * Creates an account with credits and returns a new API key, which is not shown again. Dies when
 * the name or the number of credits is invalid, and with StoreFailure when the database fails.
 */
export const newKey = (options: {
  readonly account: string
  readonly credits: number
}): Effect.Effect<Redacted.Redacted, AccountExists, Accounts | ApiKeys | CreditLedger> =>
  Effect.gen(function* () {
    const credits = Credits.make(options.credits)
    const { id } = yield* (yield* Accounts).create(AccountName.make(options.account))
    if (credits > 0) yield* Effect.orDie((yield* CreditLedger).grant(id, credits, null))
    const { key } = yield* (yield* ApiKeys).issue({ account: id })
    return key
  })

/**
 * Builds the layer and keeps it until SIGINT or SIGTERM, then releases it and ends the process. A
 * failure is printed as one line on stderr, and the exit code is 1.
 */
export const run = <A, E>(service: Layer.Layer<A, E>): void =>
  Layer.launch(service).pipe(
    Effect.tapErrorCause((cause) =>
      Effect.sync(() => {
        if (!Cause.isInterruptedOnly(cause)) process.stderr.write(`${lineOf(cause)}\n`)
      }),
    ),
    NodeRuntime.runMain({ disableErrorReporting: true }),
  )

const lineOf = (cause: Cause.Cause<unknown>) =>
  `authority-metrics: ${textOf(Cause.squash(cause))
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")}`

/** Many errors of Effect's libraries have no message, but a name and a cause. */
const textOf = (error: unknown): string => {
  const message = Predicate.hasProperty(error, "message") ? String(error.message) : ""
  if (message !== "") return message
  return Predicate.hasProperty(error, "cause") && error.cause !== undefined
    ? `${String(error)}: ${textOf(error.cause)}`
    : String(error)
}
