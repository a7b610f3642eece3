import * as Either from "effect/Either"
import type * as ParseResult from "effect/ParseResult"
import { misfit } from "./misfit.ts"

export interface Fitting<A> {
  readonly values: ReadonlyArray<A>
  /** The first field that does not fit, as `misfit` names it; undefined when every item fits. */
  readonly misfit: string | undefined
}

/** Decodes a vendor's items one by one, and skips an item that does not fit. */
export const fitting = <A>(
  items: ReadonlyArray<unknown>,
  decode: (item: unknown) => Either.Either<A, ParseResult.ParseIssue>,
): Fitting<A> => {
  const values: Array<A> = []
  let first: string | undefined
  for (const item of items) {
    const decoded = decode(item)
    if (Either.isRight(decoded)) values.push(decoded.right)
    else first ??= misfit(decoded.left)
  }
  return { values, misfit: first }
}
