/** Helpers for the tests of vendors' adapters. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Vendor } from "../../src/providers/Vendor.ts"
import { targets } from "./lookup.ts"

interface WithLayer {
  readonly layer: Layer.Layer<Vendor>
}

/** The context of a call that no request waits for. */
export const context = { account: undefined, requestIds: [] }

/** Builds the vendor, makes one call, closes the vendor, and returns the whole answer. */
export const answer = ({ layer }: WithLayer, ...urls: ReadonlyArray<string>) =>
  Effect.flatMap(Vendor, ({ call }) => call(targets(...urls), context)).pipe(Effect.provide(layer))

/** Like `answer`, but returns only the outcomes. */
export const ask = (vendor: WithLayer, ...urls: ReadonlyArray<string>) =>
  Effect.map(answer(vendor, ...urls), ({ outcomes }) => outcomes)

/** Builds the vendor, asks it for its status, and closes it. */
export const status = ({ layer }: WithLayer) =>
  Effect.flatMap(Vendor, ({ status }) => status).pipe(Effect.provide(layer))
