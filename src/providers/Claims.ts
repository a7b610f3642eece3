/**
 * The claims of the pages that this process buys from one provider, so that no other process buys
 * them too. When the store fails, this process buys without claims: better a page that is bought
 * twice than no answer.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { Figures, MetricsCache } from "../MetricsCache.ts"
import * as Tolerance from "./Tolerance.ts"

export interface Options {
  readonly provider: string
  /** How long a claim lasts when its process dies, in milliseconds. */
  readonly leaseMs: number
  readonly tolerant: Tolerance.Tolerance
}

export type Claims = NonNullable<ReturnType<typeof make>>

/** Returns undefined when no other process shares the store. */
export const make = (
  { claims, get }: MetricsCache["Type"],
  { leaseMs, provider, tolerant }: Options,
) => {
  if (claims === undefined) return undefined
  /** This process's claims: of pages that it buys, and of bought pages that are not yet stored. */
  const own = new Map<string, "buying" | "storing">()
  const bought = (pages: ReadonlyArray<string>) =>
    pages.filter((page) => own.get(page) === "buying")
  const forget = (pages: ReadonlyArray<string>) => pages.forEach((page) => own.delete(page))

  /** Returns the pages that were claimed; undefined when the store fails. */
  const claim = (pages: Arr.NonEmptyReadonlyArray<string>) =>
    Effect.suspend(() => {
      let isGivenUp = false
      const taking = Effect.flatMap(claims.take(provider, pages, leaseMs), (taken) => {
        if (isGivenUp) return Effect.as(claims.release(provider, taken), taken)
        for (const page of taken) own.set(page, "buying")
        return Effect.succeed(taken)
      })
      return Effect.tap(tolerant(taking, undefined), (taken) => {
        isGivenUp = taken === undefined
        if (isGivenUp) forget(pages)
      })
    })

  const extend = (pages: ReadonlyArray<string>) =>
    Effect.suspend(() => {
      const some = bought(pages)
      return Arr.isNonEmptyReadonlyArray(some)
        ? tolerant(claims.take(provider, some, leaseMs), undefined)
        : Effect.void
    })

  return {
    /**
     * Claims pages. Returns those that this process may buy, and those of their figures that were
     * fetched after `since`: other processes may have stored figures, and ended their claims, after
     * this process missed them. Others are buying the rest.
     */
    take: Effect.fnUntraced(function* (pages: ReadonlyArray<string>, since: number) {
      const free = pages.filter((page) => !own.has(page))
      const taken = Arr.isNonEmptyArray(free) ? ((yield* claim(free)) ?? free) : []
      const found: ReadonlyArray<Figures> = Arr.isNonEmptyReadonlyArray(taken)
        ? yield* tolerant(get(provider, taken, since), [])
        : []
      return { claimed: new Set(taken), found }
    }),

    /** Extends the claims of pages while the effect runs. */
    keep:
      (pages: ReadonlyArray<string>) =>
      <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.raceFirst(effect, Effect.forever(Effect.delay(extend(pages), leaseMs / 3))),

    /** Ends the claims of pages, but for those whose figures are on the way to the store. */
    release: (pages: ReadonlyArray<string>) =>
      Effect.suspend(() => {
        const ended = bought(pages)
        if (ended.length === 0) return Effect.void
        return tolerant(claims.release(provider, ended), undefined).pipe(
          Effect.zipRight(Effect.sync(() => forget(ended))),
          Tolerance.inDaemon,
        )
      }),

    /** The figures of the page wait to be stored. */
    storing: (page: string) => {
      if (own.has(page)) own.set(page, "storing")
    },

    /** The figures are stored, or are given up. */
    stored: (figures: ReadonlyArray<Figures>) => forget(figures.map(({ page }) => page)),
  }
}
