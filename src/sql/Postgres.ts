/** A database that any number of processes share. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"

/** Connects to `postgres://user:password@host:port/database`; fails when it is not to be reached. */
export const layer = (url: Redacted.Redacted): Layer.Layer<SqlClient.SqlClient, StoreFailure> =>
  PgClient.layer({
    url,
    ...naming,
    types: { getTypeParser: parserOf },
    applicationName: "authority",
    maxConnections: 10,
    connectTimeout: "5 seconds",
    idleTimeout: "30 seconds",
  }).pipe(Layer.catchAll((error) => Layer.fail(Failure.describe(error))))

/**
 * Every column of ours is TEXT or a number that JavaScript holds exactly. The client would hand
 * BIGINT over as a string, because of the integers above 2^53.
 */
const parserOf = (typeOid: number) => (numbers.has(typeOid) ? Number : String)

/** int8, int2, int4, float4 and float8, by PostgreSQL's catalogue pg_type. */
const numbers = new Set([20, 21, 23, 700, 701])
