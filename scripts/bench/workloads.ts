/**
 * The rows of the benchmark's table, in groups. The rows of one group are measured on the same
 * servers.
 */
import { batches, boughtUrls, knownUrls, type Request } from "./requests.ts"

export interface Row {
  readonly name: string
  /** URLs per request. Each URL costs one credit. */
  readonly urls: number
  readonly requests: ReadonlyArray<Request>
}

export interface Group {
  readonly name: string
  /**
   * Where the figures of the URLs come from: the cache ("known"), a fake vendor ("bought") or a
   * computation ("sandbox").
   */
  readonly source: "known" | "bought" | "sandbox"
  /** Explains what this group measures. The text is printed in the list below the table. */
  readonly meaning: string
  /** Environment variables of the service. The server in `peer.ts` has no settings. */
  readonly settings?: Readonly<Record<string, string>>
  /** True if each fsync of the two compared servers takes 1 ms longer. */
  readonly hasSlowDisk?: boolean
  /**
   * True if the service runs on PostgreSQL. The benchmark then compares it with the same service on
   * SQLite, and not with the server in `peer.ts`, which supports only SQLite.
   */
  readonly isOnPostgres?: boolean
  readonly rows: ReadonlyArray<Row>
}

/** Makes two rows, or four if requests without an idempotency key are measured too. */
const group = (
  name: string,
  source: Group["source"],
  {
    alwaysNamed = false,
    ...options
  }: Omit<Group, "name" | "rows" | "source"> & {
    readonly alwaysNamed?: boolean
  },
): Group => ({
  name,
  source,
  ...options,
  rows: (alwaysNamed ? [true] : [true, false]).flatMap((isNamed) =>
    [1, 50].map((count) => ({
      name: `${name}, ${isNamed ? "named" : "unnamed"}, ${count === 1 ? "1 URL" : "50 URLs"}`,
      urls: count,
      requests: batches(source === "bought" ? boughtUrls : knownUrls, { count, isNamed }),
    })),
  ),
})

const groups: ReadonlyArray<Group> = [
  group("known", "known", { meaning: "the figures were bought beforehand and are in memory" }),
  group("bought", "bought", {
    meaning:
      "no cache: every request buys its figures from a fake vendor, which is another process",
    settings: { AUTHORITY_CACHE_TTL: "0s" },
  }),
  group("sandbox", "sandbox", {
    meaning: "the default provider; the peer computes its figures with one hash per URL",
  }),
  group("known, slow disk", "known", {
    meaning: "as *known*; each fsync of both servers takes 1 ms longer",
    hasSlowDisk: true,
    alwaysNamed: true,
  }),
  group("bought, slow disk", "bought", {
    meaning: "as *bought*; each fsync of both servers takes 1 ms longer",
    settings: { AUTHORITY_CACHE_TTL: "0s" },
    hasSlowDisk: true,
    alwaysNamed: true,
  }),
  group("known, PostgreSQL", "known", {
    meaning: "as *known*; compares the service on PostgreSQL with the service on SQLite",
    isOnPostgres: true,
  }),
]

/** Returns the groups with only the rows whose names match. Omits groups without such rows. */
export const matching = (pattern: RegExp): ReadonlyArray<Group> =>
  groups
    .map((group) => ({ ...group, rows: group.rows.filter(({ name }) => pattern.test(name)) }))
    .filter(({ rows }) => rows.length > 0)
