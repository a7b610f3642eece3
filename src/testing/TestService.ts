/** Runs the service for tests: on a free port, with a fake provider and an in-memory database. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { AccountExists } from "../accounts/Account.ts"
import type { Metrics } from "../check/Metrics.ts"
import * as Fake from "../providers/Fake.ts"
import * as Service from "../server/Service.ts"
import * as Stores from "../server/Stores.ts"
import type * as Settings from "../Settings.ts"

export interface Options {
  /** Figures by URL; other URLs fail with PROVIDER_ERROR. Default: every URL has figures. */
  readonly figures?: Readonly<Record<string, Metrics>>
  /** The credits that the account `test` gets at the start. Default: 1,000. */
  readonly credits?: number
  /** More settings, keyed by environment variable. The environment of the process is ignored. */
  readonly settings?: Settings.Environment
}

export class TestService extends Context.Tag("authority/TestService")<
  TestService,
  {
    /** The address of the service, for example `http://127.0.0.1:43210`. */
    readonly url: string
    /** An API key of the account `test`, which has the credits of `Options.credits`. */
    readonly key: string
    /** The fake provider. Lists the calls that it received, and can make its next calls fail. */
    readonly provider: Fake.Fake
  }
>() {}

/** The service for tests written with Effect. It uses the test's logger. */
export const layer = ({ credits = 1000, figures, settings }: Options = {}): Layer.Layer<
  TestService | Service.Given,
  Service.CannotStart | AccountExists
> =>
  Layer.suspend(() => {
    const provider = Fake.make(figures)
    return Layer.effect(
      TestService,
      Effect.gen(function* () {
        const { url } = yield* Service.Service
        const key = yield* Service.newKey({ account: "test", credits })
        return { url, key: Redacted.value(key), provider }
      }),
    ).pipe(
      Layer.provideMerge(
        Service.layer({
          provider: provider.layer,
          stores: Stores.inMemory,
          settings: { AUTHORITY_PORT: "0", AUTHORITY_SHUTDOWN_TIMEOUT: "1s", ...settings },
        }),
      ),
    )
  })

/** A running service. Stop it with `stop`, or with `await using`. */
export interface Running extends Context.Tag.Service<TestService> {
  readonly stop: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** Starts the service for tests written with promises. It logs nothing. */
export const start = async (options?: Options): Promise<Running> => {
  const scope = Effect.runSync(Scope.make())
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  const silent = Logger.remove(Logger.defaultLogger)
  try {
    const context = await Effect.runPromise(
      Layer.buildWithScope(Layer.provide(layer(options), silent), scope),
    )
    const service = Context.get(context, TestService)
    return { ...service, stop: close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}
