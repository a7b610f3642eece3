import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Order from "effect/Order"
import * as Schema from "effect/Schema"
import { metricsOf, Score } from "../Metrics.ts"
import { type Figures, MetricsCache } from "../MetricsCache.ts"
import * as Failure from "./Failure.ts"
import { makeRetryAfterDisconnection } from "./retry.ts"

/** Stores metrics in SQL, in the table `figures`. */
export const layer: Layer.Layer<MetricsCache, never, SqlClient.SqlClient> = Layer.effect(
  MetricsCache,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection

    const find = SqlSchema.findAll({
      Request: Schema.Struct({
        provider: Schema.String,
        pages: Schema.Array(Schema.String),
        since: Schema.Number,
      }),
      Result: Row,
      execute: ({ pages, provider, since }) => sql`
        SELECT provider, page, domain_authority, page_authority, spam_score, fetched_at,
          vendor_index, of_domain
        FROM figures
        WHERE provider = ${provider} AND page IN ${sql.in(pages)} AND fetched_at > ${since}`,
    })

    const deleteSome = (until: number) => sql`
      DELETE FROM figures WHERE (provider, page) IN (
        SELECT provider, page FROM figures WHERE fetched_at <= ${until} LIMIT ${sweepSize}
      ) RETURNING page`

    return MetricsCache.of({
      get: Effect.fn("MetricsCache.get")((provider, pages, since) =>
        find({ provider, pages, since }).pipe(
          retried,
          Effect.map((rows) => rows.map(fromRow)),
          Failure.orDie,
        ),
      ),

      put: Effect.fn("MetricsCache.put")((figures) =>
        sql`
          INSERT INTO figures ${sql.insert(Arr.sort(figures, byPage).map(toRow))}
          ON CONFLICT (provider, page) DO UPDATE SET
            domain_authority = excluded.domain_authority,
            page_authority = excluded.page_authority,
            spam_score = excluded.spam_score,
            fetched_at = excluded.fetched_at,
            vendor_index = excluded.vendor_index,
            of_domain = excluded.of_domain`.pipe(
          // On SQLite, a statement outside a transaction would not wait for the write lock.
          sql.withTransaction,
          retried,
          Effect.asVoid,
          Failure.orDie,
        ),
      ),

      sweep: Effect.fn("MetricsCache.sweep")((until) =>
        sql
          .withTransaction(deleteSome(until))
          .pipe(
            Effect.repeat({ while: (deleted) => deleted.length === sweepSize }),
            Effect.asVoid,
            Failure.orDie,
          ),
      ),
    })
  }),
)

/** Every process writes the rows in the same order, which prevents deadlocks. */
const byPage = Order.combine(
  Order.mapInput(Order.string, ({ provider }: Figures) => provider),
  Order.mapInput(Order.string, ({ page }: Figures) => page),
)

/** How many rows one statement deletes: few, so that other writers do not wait long. */
const sweepSize = 1000

const Row = Schema.Struct({
  provider: Schema.String,
  page: Schema.String,
  domainAuthority: Score,
  pageAuthority: Score,
  spamScore: Schema.NullOr(Score),
  fetchedAt: Schema.Int,
  vendorIndex: Schema.NullOr(Schema.String),
  ofDomain: Schema.NullOr(Schema.String),
})

const fromRow = (row: typeof Row.Type): Figures => {
  const { domainAuthority, fetchedAt, ofDomain, page, pageAuthority, provider, spamScore } = row
  return {
    provider,
    page,
    metrics: metricsOf(domainAuthority, pageAuthority, spamScore),
    fetchedAt,
    index: row.vendorIndex ?? undefined,
    of: ofDomain ?? undefined,
  }
}

const toRow = ({ fetchedAt, index, metrics, of, page, provider }: Figures): typeof Row.Type => ({
  provider,
  page,
  domainAuthority: metrics.domainAuthority,
  pageAuthority: metrics.pageAuthority,
  spamScore: metrics.spamScore ?? null,
  fetchedAt,
  vendorIndex: index ?? null,
  ofDomain: of ?? null,
})
