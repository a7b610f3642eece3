/**
 * How the program's Node keeps its memory. V8 would let the young generation grow to four times this,
 * and keep a heap for each of four helping threads. A smaller one costs more, for each collection
 * copies all requests in flight.
 */
export const v8Flags = ["--max-semi-space-size=8", "--v8-pool-size=1"]
