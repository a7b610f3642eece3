import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import { Target } from "../../src/Target.ts"

/** Targets from what tests know to be valid. */
export const targets = (...urls: ReadonlyArray<string>): Arr.NonEmptyReadonlyArray<Target> => {
  const [first, ...rest] = urls.map((url) => Either.getOrThrow(Target.parse(url)))
  if (first === undefined) throw new Error("no targets")
  return [first, ...rest]
}
