import * as Either from "effect/Either"
import type * as ParseResult from "effect/ParseResult"

export interface Fitting<A> {
  readonly values: ReadonlyArray<A>
  /** Why the first item that does not fit was skipped; undefined when every item fits. */
  readonly misfit: ParseResult.ParseIssue | undefined
}

/** Decodes a vendor's items one by one, and skips an item that does not fit. */
export const fitting = <A>(
  items: ReadonlyArray<unknown>,
  decode: (item: unknown) => Either.Either<A, ParseResult.ParseIssue>,
): Fitting<A> => {
  const values: Array<A> = []
  let first: ParseResult.ParseIssue | undefined
  for (const item of items) {
    const decoded = decode(item)
    if (Either.isRight(decoded)) values.push(decoded.right)
    else first ??= decoded.left
  }
  return { values, misfit: first }
}
