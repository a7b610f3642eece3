/** A list and its run: opens the journal, and makes the plan. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type AnyClientError, isClientError } from "../client/ClientError.ts"
import { forgetful } from "../run/Journal.ts"
import type { Plan } from "../run/Plan.ts"
import { type Connect, type PlanOptions, Run } from "../run/Run.ts"
import { type CheckJournal, JournalFailed } from "./CheckJournal.ts"

/** The service refused a request, or did not answer. */
export class ClientFailed extends Data.TaggedError("ClientFailed")<{
  readonly error: AnyClientError
}> {}

export interface CheckedList {
  readonly run: Run
  readonly plan: Plan
  /** True when the list was finished, and is bought anew. */
  readonly isAnew: boolean
  /** Call before the run goes: forgets what the run replaces. */
  readonly begin: Effect.Effect<void, JournalFailed>
  /** Records that every URL has its outcome. */
  readonly finish: Effect.Effect<void, JournalFailed>
}

interface Options extends Pick<PlanOptions, "onProgress"> {
  readonly connect: Connect
  readonly openJournal: (
    filename: string,
  ) => Effect.Effect<CheckJournal, JournalFailed, Scope.Scope>
  /** The path of the journal; undefined for a run without one. */
  readonly journal: string | undefined
  /** True to buy a finished list anew. */
  readonly isRenewed: boolean
}

/** Opens the journal until the scope closes, and plans the run, free of charge. */
export const open = (
  urls: ReadonlyArray<string>,
  { connect, isRenewed, journal: filename, onProgress, openJournal }: Options,
): Effect.Effect<CheckedList, JournalFailed | ClientFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const journal = filename === undefined ? undefined : yield* openJournal(filename)
    const isAnew =
      isRenewed && (yield* attempt(async () => (await journal?.finishedAt()) !== undefined))
    const run = yield* attempt(() => Run.open(journal ?? forgetful, { isAnew }))
    const plan = yield* attempt((signal) => run.plan(urls, connect, { signal, onProgress }))
    return {
      run,
      plan,
      isAnew,
      begin: attempt(async () => {
        if (isAnew) await journal?.clear()
      }).pipe(Effect.catchTag("ClientFailed", Effect.die)),
      finish: attempt(async () => journal?.finish()).pipe(
        Effect.catchTag("ClientFailed", Effect.die),
      ),
    }
  })

/** Runs a function of the engine, and sorts its errors. */
export const attempt = <A>(
  act: (signal: AbortSignal) => Promise<A>,
): Effect.Effect<A, JournalFailed | ClientFailed> =>
  Effect.tryPromise({ try: act, catch: (error) => error }).pipe(
    Effect.catchAll((error): Effect.Effect<never, JournalFailed | ClientFailed> => {
      if (isClientError(error)) return new ClientFailed({ error })
      return error instanceof JournalFailed ? Effect.fail(error) : Effect.die(error)
    }),
  )
