/** The methods of the port Purchases that compare the purchases with the vendors' own counts. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { dayOf } from "../ledger/Usage.ts"
import type { Purchases } from "../Purchases.ts"
import * as Failure from "./Failure.ts"
import type { RetryAfterDisconnection } from "./retry.ts"

const Totals = Schema.Struct({
  provider: Schema.String,
  calls: Schema.Int,
  rows: Schema.Int,
  cost: Schema.Int,
  unknownCalls: Schema.Int,
  unknownTargets: Schema.Int,
  inFlightCalls: Schema.Int,
  inFlightTargets: Schema.Int,
})

const Reading = Schema.Struct({
  ...Totals.fields,
  at: Schema.Int,
  unit: Schema.String,
  used: Schema.Int,
  resetsAt: Schema.NullOr(Schema.Int),
})

export const makeReadings = (
  sql: SqlClient.SqlClient,
  retried: RetryAfterDisconnection,
): Pick<Purchases["Type"], "totals" | "addReading" | "readings"> => {
  const totals = totalsOf(sql)
  const readings = SqlSchema.findAll({
    Request: Schema.Struct({ provider: Schema.UndefinedOr(Schema.String), limit: Schema.Int }),
    Result: Reading,
    execute: ({ limit, provider }) => sql`
      SELECT provider, at, unit, used, resets_at, calls, rows_bought AS "rows", cost,
        unknown_calls, unknown_targets, in_flight_calls, in_flight_targets
      FROM vendor_readings
      WHERE ${provider === undefined ? sql`TRUE` : sql`provider = ${provider}`}
      ORDER BY at DESC, provider LIMIT ${limit}`,
  })
  return {
    totals: (provider, inFlightSince) =>
      totals({ provider, inFlightSince }).pipe(
        retried,
        Effect.map((sums) => ({ provider, ...sums })),
        Effect.catchTag("NoSuchElementException", Effect.die),
        Failure.orDie,
      ),
    addReading: ({ rows, ...reading }, { isDaily }) => {
      const row = { ...reading, rowsBought: rows, day: isDaily ? dayOf(reading.at) : null }
      return sql`INSERT INTO vendor_readings ${sql.insert(row)} ON CONFLICT DO NOTHING`.pipe(
        retried,
        Effect.asVoid,
        Failure.orDie,
      )
    },
    readings: ({ limit, provider }) => readings({ provider, limit }).pipe(retried, Failure.orDie),
  }
}

/** One statement, because all sums must be of the same moment. */
const totalsOf = (sql: SqlClient.SqlClient) =>
  SqlSchema.single({
    Request: Schema.Struct({ provider: Schema.String, inFlightSince: Schema.Int }),
    Result: Schema.Struct(Totals.fields).omit("provider"),
    execute: ({ inFlightSince, provider }) => sql`
      SELECT CAST(COALESCE(SUM(days.calls - unknown_calls), 0) AS BIGINT) AS calls,
        CAST(COALESCE(SUM(rows_bought), 0) AS BIGINT) AS "rows",
        CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost,
        CAST(COALESCE(SUM(unknown_calls), 0) - in_flight.calls AS BIGINT) AS unknown_calls,
        CAST(COALESCE(SUM(unknown_targets), 0) - in_flight.targets AS BIGINT) AS unknown_targets,
        CAST(in_flight.calls AS BIGINT) AS in_flight_calls,
        CAST(in_flight.targets AS BIGINT) AS in_flight_targets
      FROM (
        SELECT COUNT(*) AS calls, COALESCE(SUM(targets), 0) AS targets FROM purchases
        WHERE provider = ${provider} AND at > ${inFlightSince} AND state = 'unknown'
      ) in_flight
      LEFT JOIN purchase_days days ON days.provider = ${provider}
      GROUP BY in_flight.calls, in_flight.targets`,
  })
