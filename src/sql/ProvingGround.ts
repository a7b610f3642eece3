/**
 * The statements of `authority doctor --prove` on PostgreSQL: a schema of its own, and the faults
 * that the server itself makes. The ledger's own statements are those of the stores.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AccountId } from "../Account.ts"
import { StoreFailure } from "../StoreFailure.ts"
import { databaseTime } from "./databaseTime.ts"
import * as Failure from "./Failure.ts"

/** Asks for one value. */
const single = <A, I>(
  statement: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<unknown>, SqlError>,
  value: Schema.Schema<A, I>,
) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    SqlSchema.single({
      Request: Schema.Void,
      Result: Schema.Struct({ value }),
      execute: () => statement(sql),
    })(undefined),
  ).pipe(
    Effect.map(({ value }) => value),
    Effect.mapError(Failure.describe),
  )

/** Creates a schema. `name` must need no quotes. Fails with StoreFailure. */
export const createSchema = (name: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`CREATE SCHEMA ${name}`)).pipe(
    Effect.mapError((error) =>
      Failure.isForbidden(error)
        ? new StoreFailure({
            message: `the role may not create a schema; type GRANT CREATE ON DATABASE NAME TO ROLE in the database (${Failure.wordsOf(error)})`,
            cause: error,
          })
        : Failure.describe(error),
    ),
  )

/** Drops a schema with all its tables. Fails with StoreFailure. */
export const dropSchema = (name: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`DROP SCHEMA ${name} CASCADE`)).pipe(
    Effect.mapError(Failure.describe),
  )

/** The schema in which unqualified names are created. Fails with StoreFailure. */
export const currentSchema = single(
  (sql) => sql`SELECT coalesce(current_schema(), '') AS value`,
  Schema.String,
)

/** Runs an empty transaction. Fails with StoreFailure. */
export const transaction = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.withTransaction(sql`SELECT 1`),
).pipe(Effect.mapError(Failure.describe))

const serverTime = single(
  (sql) => sql`SELECT ${sql.literal(databaseTime(sql))} AS value`,
  Schema.Number,
)

/**
 * How far the server's clock is ahead of this machine's, in milliseconds: negative when it is
 * behind. Half of the statement's duration is the largest error. Fails with StoreFailure.
 */
export const clockAheadMs = Effect.gen(function* () {
  const before = yield* Clock.currentTimeMillis
  const server = yield* serverTime
  const after = yield* Clock.currentTimeMillis
  return Math.round(server - (before + after) / 2)
})

/** Ends one connection of this application, and returns true if there was one. Fails with StoreFailure. */
export const endConnection = (application: string) =>
  single(
    (sql) => sql`
      SELECT count(pg_terminate_backend(pid)) AS value FROM (
        SELECT pid FROM pg_stat_activity WHERE application_name = ${application}
        ORDER BY random() LIMIT 1
      ) AS victim`,
    Schema.Number,
  )

/** The message of the errors that `askForRestarts` makes. */
export const restartMessage = "the proof asks for a restart"

/**
 * Makes the server ask for a restart (40001) at the first of each 20 rows: for a hold at its
 * statement, and for an entry at the COMMIT. Fails with StoreFailure.
 */
export const askForRestarts = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(
    [
      `CREATE SEQUENCE rows_tried`,
      `CREATE FUNCTION ask_for_restart() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF nextval('rows_tried') % 20 = 1 THEN
           RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = '${restartMessage}';
         END IF;
         RETURN NULL;
       END $$`,
      `CREATE TRIGGER at_statement AFTER INSERT ON holds
       FOR EACH ROW EXECUTE FUNCTION ask_for_restart()`,
      `CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION ask_for_restart()`,
    ],
    (statement) => sql.unsafe(statement),
    { discard: true },
  ),
).pipe(Effect.mapError(Failure.describe))

/** How often the server asked for a restart: no rollback sets a sequence back. Fails with StoreFailure. */
export const restarts = single(
  (sql) =>
    sql`SELECT CASE WHEN is_called THEN (last_value + 19) / 20 ELSE 0 END AS value FROM rows_tried`,
  Schema.Number,
)

/**
 * Locks the balances of two accounts in one transaction, the second after `between`. When another
 * transaction locks them the other way round meanwhile, one of the two is asked to restart. The
 * transaction may run several times. Fails with StoreFailure.
 */
export const lockInTurn = (
  accounts: readonly [AccountId, AccountId],
  between: Effect.Effect<void>,
) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const lock = (account: AccountId) =>
      sql`UPDATE balances SET held = held WHERE account_id = ${account}`
    const [first, second] = accounts
    return sql.withTransaction(
      lock(first).pipe(Effect.zipRight(between), Effect.zipRight(lock(second)), Effect.asVoid),
    )
  }).pipe(Effect.mapError(Failure.describe))
