/** The port to the imported ranking: the names of hosts and domains, with their ranks. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"

export interface Ranked {
  /** A host or a domain, in ASCII and lower case. */
  readonly name: string
  /** 1 is the best. */
  readonly rank: number
}

export interface Imported {
  /** The name given to `replace`; null if an older version of the program imported the ranking. */
  readonly name: string | null
  /** The time of the import in epoch milliseconds; null if `name` is null. */
  readonly at: number | null
}

/** Every method may die with StoreFailure. */
export class Rankings extends Context.Tag("authority/Rankings")<
  Rankings,
  {
    /** Returns the ranks of the names that are in the ranking. Other names have no entry. */
    readonly ranks: (
      names: NonEmptyReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, number>>
    /** Returns the name and time of the ranking in use; none before the first import. */
    readonly current: Effect.Effect<Option.Option<Imported>>
    /**
     * Replaces the ranking; `current` then returns `name`. The old ranking stays in use until the
     * new one is complete, and remains after a failure or interruption. Fails with the error of
     * `rows`. If a name occurs twice, the better rank counts.
     */
    readonly replace: <E, R>(
      rows: Stream.Stream<ReadonlyArray<Ranked>, E, R>,
      name: string,
    ) => Effect.Effect<void, E, R>
  }
>() {}
