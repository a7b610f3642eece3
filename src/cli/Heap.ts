/**
 * How V8 keeps the memory of a verb. It is told while the verb runs: under most flags of the command
 * line it takes nothing that was compiled under others, and compiles Node's own modules at each start.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Effect from "effect/Effect"

/** Where V8 does not know how, more memory is all it takes. */
const told = (...flags: ReadonlyArray<string>) =>
  Effect.ignore(Effect.try(() => flags.forEach((flag) => setFlagsFromString(flag))))

/** How far the heap may grow is reckoned anew after a collection only. */
const collected = Effect.ignore(
  Effect.try(() => {
    setFlagsFromString("--expose-gc")
    const collect: unknown = runInNewContext("gc")
    if (typeof collect === "function") collect()
  }),
)

/**
 * V8 would let old objects grow to four times what lives of them before it collects any. And of what
 * often survives a collection, as a request does that waits for its commit, it would put the next ones
 * among the old right away, where they are garbage soon and keep all that they refer to.
 */
export const ofService = Effect.zipRight(
  told("--heap-growing-percent=30", "--no-allocation-site-pretenuring"),
  collected,
)

/**
 * The garbage of a million rows would grow to twice the memory before it is looked after; collecting
 * more often costs no time there.
 */
export const ofImport = told("--semi-space-growth-factor=1")
