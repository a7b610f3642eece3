/**
 * How the program's Node keeps its memory. V8 would let the young generation grow to four times this,
 * and keep a heap for each of four helping threads. A smaller one costs more, for each collection
 * copies all requests in flight; and left to itself V8 makes it eight times smaller whenever there is
 * little to do, so that much of the next burst of requests becomes old, and the memory of a service
 * that is busy now and then grows from 125 to 142 MB.
 */
export const v8Flags = ["--min-semi-space-size=8", "--max-semi-space-size=8", "--v8-pool-size=1"]
