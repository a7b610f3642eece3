/**
 * V8's flags for a service. They keep the young generation (new objects) at 16 MB and let the old
 * generation grow to twice the live data. V8's defaults are 128 MB and four times the live data.
 * The scripts `start` in package.json have the same flags.
 */
export const heapFlags = ["--max-semi-space-size=8", "--heap-growing-percent=100"]
