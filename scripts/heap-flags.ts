/**
 * V8's flags for a service: the young generation (new objects) gets at most 32 MB, where V8's default
 * is 128 MB, and the old generation at most 1.5 GB. With a limit below 2 GB, V8 lets the old
 * generation grow by less than 100 % between two collections, and not by 300 %. The scripts `start`
 * in package.json have the same flags. Most other flags would cost 10 ms of the start, because with
 * them V8 rejects Node's own code cache.
 */
export const heapFlags = ["--max-semi-space-size=16", "--max-old-space-size=1536"]
