/** The port to the imported ranking: a list of host and domain names with their ranks. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"

export interface Ranked {
  /** A host or a domain, in ASCII and lower case. */
  readonly name: string
  /** 1 is the best. */
  readonly rank: number
}

/** Every method may die with StoreFailure. */
export class Rankings extends Context.Tag("authority/Rankings")<
  Rankings,
  {
    /** Returns the rank of each name that is in the list. The map has no entry for other names. */
    readonly ranks: (
      names: NonEmptyReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, number>>
    /**
     * Replaces the list. The old list stays in use until the new list is complete. If `rows` fails,
     * `replace` fails with that error. After a failure or interruption, the old list remains. If a
     * name occurs twice, the better rank counts.
     */
    readonly replace: <E, R>(
      rows: Stream.Stream<ReadonlyArray<Ranked>, E, R>,
    ) => Effect.Effect<void, E, R>
  }
>() {}
