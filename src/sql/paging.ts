/** Reads long tables page by page. */
import * as Option from "effect/Option"

/** Maximum number of rows that one statement reads. */
export const pageSize = 1000

/** Returns the row after which the next page begins; none after the last page. */
export const nextPage = <A>(page: ReadonlyArray<A>): Option.Option<A> =>
  page.length < pageSize ? Option.none() : Option.fromNullable(page.at(-1))
