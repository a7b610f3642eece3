/** The properties that `authority doctor --prove` looks for, and what it finds. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { failWithStoreFailure } from "../StoreFailure.ts"

const properties = [
  "connection",
  "durability",
  "clock",
  "writable primary",
  "transactions",
  "schema",
  "isolation",
  "deadlock",
  "restart",
  "no double charge",
  "no lost charge",
  "books",
] as const
export type Property = (typeof properties)[number]

export interface Finding {
  readonly state: "pass" | "fail" | "unknown"
  readonly subject: Property
  readonly detail: string
}

const finding =
  (state: Finding["state"]) =>
  (subject: Property, detail: string): Finding => ({ state, subject, detail })
export const pass = finding("pass")
export const fail = finding("fail")
export const unknown = finding("unknown")

/** The database lacks a property without which the next ones cannot be examined. */
export class Stopped extends Data.TaggedError("Stopped")<{ readonly finding: Finding }> {}

/** Stops with a failure of this property when the effect fails, or dies with StoreFailure. */
export const needed =
  (property: Property) =>
  <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      failWithStoreFailure,
      Effect.mapError((error) => {
        if (error instanceof Stopped) return error
        const detail = error.message.replaceAll("AUTHORITY_DATABASE_URL", "AUTHORITY_PROVE_URL")
        return new Stopped({ finding: fail(property, detail) })
      }),
    )

/** Lists all properties. Those without a finding were not examined. */
export const complete = (found: ReadonlyArray<Finding>): ReadonlyArray<Finding> =>
  properties.map(
    (property) =>
      found.find(({ subject }) => subject === property) ??
      unknown(property, "not examined, because of the failure above"),
  )
