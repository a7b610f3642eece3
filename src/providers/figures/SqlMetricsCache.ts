import { createHash } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Order from "effect/Order"
import * as Schema from "effect/Schema"
import { metricsOf, Score } from "../../check/Metrics.ts"
import { type Figures, MetricsCache, type Observation, type Range } from "./MetricsCache.ts"
import * as BulkRows from "../../database/rows/bulkRows.ts"
import * as Failure from "../../database/Failure.ts"
import { pageSize, sweep } from "../../database/rows/paging.ts"
import { makeRetryAfterDisconnection } from "../../database/retry.ts"

/**
 * Stores figures in SQL. The table `figures` has the latest figures of each page, which are also
 * its latest observation. When different figures replace them, a trigger copies the old ones to
 * `observations`. So figures that are bought once, or bought again unchanged, take one row and no
 * further write.
 */
export const layer: Layer.Layer<MetricsCache, never, SqlClient.SqlClient> = Layer.effect(
  MetricsCache,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection

    const { deleteFigures, deleteObservations, find, findObservations } = queriesOf(sql)
    const insertFigures = BulkRows.inserter(sql, figuresTable)

    return MetricsCache.of({
      get: Effect.fn("MetricsCache.get")((provider, pages, since) => {
        const pageOf = new Map(pages.map((page) => [storedPage(page), page]))
        return find(provider, [...pageOf.keys()], since).pipe(
          retried,
          Effect.map((rows) => rows.map((row) => toFigures(row, pageOf.get(row.page) ?? row.page))),
          Failure.orDie,
        )
      }),

      put: Effect.fn("MetricsCache.put")((figures) =>
        // On SQLite, a statement outside a transaction would not wait for the write lock.
        sql
          .withTransaction(insertFigures(Arr.sort(figures, byPage)))
          .pipe(retried, Failure.orDie, Effect.asVoid),
      ),

      observations: Effect.fn("MetricsCache.observations")((page, range) =>
        findObservations({ key: storedPage(page), ...range }).pipe(
          retried,
          Effect.map((rows) => rows.map(toObservation)),
          Failure.orDie,
        ),
      ),

      sweep: Effect.fn("MetricsCache.sweep")((until) =>
        Effect.zipRight(sweep(sql, deleteFigures(until)), sweep(sql, deleteObservations(until))),
      ),
    })
  }),
)

const queriesOf = (sql: SqlClient.SqlClient) => ({
  find: (provider: string, pages: ReadonlyArray<string>, since: number) =>
    sql`
      SELECT provider, page, domain_authority, page_authority, spam_score, fetched_at,
        vendor_index, of_domain
      FROM figures
      WHERE provider = ${provider} AND page IN ${sql.in(pages)} AND fetched_at > ${since}`.pipe(
      Effect.flatMap(decodeRows),
    ),

  // The key of `figures` begins with the provider, so this finds the providers one by one. Rows
  // with `of_vendor` are a vendor's own history, which version 1.1.0 stored.
  findObservations: ({ key, limit, since, until }: Range & { readonly key: string }) =>
    sql`
      WITH RECURSIVE providers (name) AS (
        SELECT MIN(provider) FROM figures
        UNION ALL
        SELECT (SELECT MIN(provider) FROM figures WHERE provider > name)
        FROM providers WHERE name IS NOT NULL
      )
      SELECT provider, COALESCE(since, fetched_at) AS "fetchedAt", fetched_at AS "lastFetchedAt",
        vendor_index AS "vendorIndex", domain_authority AS "domainAuthority",
        page_authority AS "pageAuthority", spam_score AS "spamScore"
      FROM providers JOIN figures ON provider = name
      WHERE page = ${key} AND fetched_at > ${since}
        AND COALESCE(since, fetched_at) <= ${until}
      UNION ALL
      SELECT provider, fetched_at, last_fetched_at, vendor_index, domain_authority,
        page_authority, spam_score
      FROM observations
      WHERE page = ${key} AND stored_at > ${since} AND fetched_at <= ${until}
        AND of_vendor = 0
      ORDER BY "fetchedAt" DESC, provider LIMIT ${limit}`.withoutTransform.pipe(
      Effect.flatMap(decodeObservations),
    ),

  deleteFigures: (until: number) => sql`
    DELETE FROM figures WHERE (provider, page) IN (
      SELECT provider, page FROM figures WHERE fetched_at <= ${until} LIMIT ${pageSize}
    ) RETURNING page`,

  deleteObservations: (until: number) => sql`
    DELETE FROM observations WHERE (page, provider, fetched_at) IN (
      SELECT page, provider, fetched_at FROM observations
      WHERE stored_at <= ${until} LIMIT ${pageSize}
    ) RETURNING page`,
})

/** All processes write rows in the same order, which prevents deadlocks. */
const byPage = Order.combine(
  Order.mapInput(Order.string, ({ provider }: Figures) => provider),
  Order.mapInput(Order.string, ({ page }: Figures) => page),
)

const common = {
  provider: Schema.String,
  domainAuthority: Score,
  pageAuthority: Score,
  spamScore: Schema.NullOr(Score),
  fetchedAt: Schema.Int,
  vendorIndex: Schema.NullOr(Schema.String),
}

const Row = Schema.Struct({
  ...common,
  page: Schema.String,
  ofDomain: Schema.NullOr(Schema.String),
})
const decodeRows = BulkRows.decoder(Row)

const ObservationRow = Schema.Struct({ ...common, lastFetchedAt: Schema.Int })
const decodeObservations = BulkRows.decoder(ObservationRow)

const commonOf = (row: Schema.Struct.Type<typeof common>) => ({
  provider: row.provider,
  metrics: metricsOf(row.domainAuthority, row.pageAuthority, row.spamScore),
  fetchedAt: row.fetchedAt,
  index: row.vendorIndex ?? undefined,
})

const toFigures = (row: typeof Row.Type, page: string): Figures => ({
  ...commonOf(row),
  page,
  of: row.ofDomain ?? undefined,
})

const toObservation = (row: typeof ObservationRow.Type): Observation => ({
  ...commonOf(row),
  lastFetchedAt: row.lastFetchedAt,
})

const figuresTable: BulkRows.Table<Figures> = {
  name: "figures",
  key: ["provider", "page"],
  texts: ["provider", "page", "vendor_index", "of_domain"],
  numbers: ["fetched_at", "since"],
  doubles: ["domain_authority", "page_authority", "spam_score"],
  changes: {
    // Null if the figures changed: the trigger `figures_changed` tests for this.
    since: `CASE
      WHEN figures.domain_authority = excluded.domain_authority
        AND figures.page_authority = excluded.page_authority
        AND figures.spam_score IS NOT DISTINCT FROM excluded.spam_score
        AND figures.vendor_index IS NOT DISTINCT FROM excluded.vendor_index
      THEN COALESCE(figures.since, figures.fetched_at) END`,
  },
  rowOf: ({ fetchedAt, index, metrics, of, page, provider }) => ({
    ...metrics,
    provider,
    page: storedPage(page),
    vendorIndex: index,
    ofDomain: of,
    fetchedAt,
  }),
}

/**
 * Returns a page in its stored form: its address. A long address is cut, and its hash is added,
 * because addresses have up to 9,000 characters, PostgreSQL refuses index entries above 2,700
 * bytes, and SQLite stores every key twice, a long one with overflow pages.
 */
const storedPage = (page: string): string =>
  page.length <= maxLength
    ? page
    : `${page.slice(0, maxLength - hashLength)} ${createHash("sha256").update(page).digest("base64url")}`

/** The maximum length of a stored page, in characters. */
const maxLength = 256
/** The length of the space before the hash, which no address contains, and of the hash itself. */
const hashLength = 44
