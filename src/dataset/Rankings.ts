/** The port to an imported list of names by rank, the best first. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { StoreFailure } from "../StoreFailure.ts"

export interface Ranked {
  /** A host or a domain, in ASCII and lower case. */
  readonly name: string
  /** 1 is the best. */
  readonly rank: number
}

export class Rankings extends Context.Tag("authority/Rankings")<
  Rankings,
  {
    /** The ranks of those names that the list holds; fails with StoreFailure. */
    readonly ranks: (
      names: NonEmptyReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, number>, StoreFailure>
    /**
     * Puts a list in the place of the former one, which answers until the new one is complete, and
     * stays when the rows fail or an interruption ends them. Of a name that comes twice the better
     * rank counts. Fails with what the rows fail with, and with StoreFailure.
     */
    readonly replace: <E, R>(
      rows: Stream.Stream<ReadonlyArray<Ranked>, E, R>,
    ) => Effect.Effect<void, E | StoreFailure, R>
  }
>() {}
