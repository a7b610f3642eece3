/**
 * How the program's Node keeps its memory. V8 would let the old generation grow to four times what
 * lives in it before it collects anything, the young one to four times this, and keep a heap for each
 * of four helping threads; with these the service takes half the memory at nearly the same speed. A
 * smaller young generation costs more, for each collection copies all requests in flight.
 *
 * Of what often survives a collection, as a request that waits for its commit does, V8 would put the
 * next ones right among the old objects, where they are garbage soon and keep what they refer to from
 * being collected with the young.
 */
export const v8Flags = [
  "--max-semi-space-size=8",
  "--heap-growing-percent=30",
  "--v8-pool-size=1",
  "--no-allocation-site-pretenuring",
]
