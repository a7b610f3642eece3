/** The port (interface) to the imported ranking, which lists host and domain names with ranks. */
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

/** The ranking in use. */
export interface Imported {
  /** The name that `replace` got; null when an older version of the program imported the ranking. */
  readonly name: string | null
  /** In epoch milliseconds; null when `name` is. */
  readonly at: number | null
}

/** Every method may die with StoreFailure. */
export class Rankings extends Context.Tag("authority/Rankings")<
  Rankings,
  {
    /**
     * Returns the rank of each name that is in the ranking. The map has no entry for other names.
     */
    readonly ranks: (
      names: NonEmptyReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, number>>
    /** Returns what the ranking in use is; none before the first import. */
    readonly current: Effect.Effect<Option.Option<Imported>>
    /**
     * Replaces the ranking, and keeps `name` for `current`. The old ranking stays in use until the new ranking is complete. If
     * `rows` fails, `replace` fails with the same error. After a failure or interruption, the old
     * ranking remains. If a name occurs twice, the better rank counts.
     */
    readonly replace: <E, R>(
      rows: Stream.Stream<ReadonlyArray<Ranked>, E, R>,
      name: string,
    ) => Effect.Effect<void, E, R>
  }
>() {}
