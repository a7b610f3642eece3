/** The one place that knows what goes wrong with a database, and what to do about it. */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import { StoreFailure } from "../StoreFailure.ts"

/** For the methods of a port: no caller can act on a broken database, so its failure is a defect. */
export const orDie = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, Exclude<E, SqlError | ParseResult.ParseError>, R> =>
  Effect.catchAll(effect, (error) =>
    isDatabaseError(error)
      ? Effect.die(describe(error))
      : Effect.fail(error as Exclude<E, SqlError | ParseResult.ParseError>),
  )

/** What a database said, as a sentence with the mend where one is known. */
export const describe = (error: unknown): StoreFailure => {
  const said = wordsOf(error)
  const known = knownAs(error)
  return new StoreFailure({
    message: known === undefined ? `the database failed: ${said}` : `${known} (${said})`,
    cause: error,
  })
}

/** The database's or the system's own words. */
export const wordsOf = (error: unknown): string => signsOf(rootCause(error))[1]

/** What is wrong with a database, in words that anybody may read. */
export const summarize = (error: unknown): string =>
  knownAs(error)?.replace(/:.*/, "") ?? "the database failed"

const knownAs = (error: unknown): string | undefined => {
  const [code, said] = signsOf(rootCause(error))
  return mends.find(([signs]) => signs.test(code) || signs.test(said))?.[1]
}

/** Why a row cannot be read, column by column. */
export const unreadable = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ message, path }) => `${path.join(".")}: ${message}`)
    .join("; ")

/** Another writer has the database at the moment; trying again is worth it. */
export const isBusy = (error: unknown): boolean => {
  const cause = rootCause(error)
  return Predicate.hasProperty(cause, "code") && String(cause.code).startsWith("SQLITE_BUSY")
}

/** The file is damaged, or is no SQLite database. */
export const isDamage = (error: unknown): boolean => {
  const cause = rootCause(error)
  return Predicate.hasProperty(cause, "code") && damage.test(String(cause.code))
}

/** A row with the same unique value exists. */
export const isDuplicate = (error: unknown): boolean => {
  const cause = rootCause(error)
  if (!Predicate.hasProperty(cause, "code")) return false
  return /^(23505|SQLITE_CONSTRAINT_UNIQUE|SQLITE_CONSTRAINT_PRIMARYKEY)$/.test(String(cause.code))
}

/**
 * The database is well: it will not take these values, or has others that were tampered with. The
 * transaction was rolled back, and does no better with the same data.
 */
export const isBadData = (error: unknown): boolean => {
  const cause = rootCause(error)
  return (
    Predicate.isTagged(error, "ParseError") ||
    (Predicate.hasProperty(cause, "code") &&
      /^(SQLITE_CONSTRAINT|2[23]\w{3}$)/.test(String(cause.code)))
  )
}

/** The role lacks a permission that a grant gives. */
export const isForbidden = (error: unknown): boolean => {
  const cause = rootCause(error)
  return Predicate.hasProperty(cause, "code") && /^(42501|3F000)$/.test(String(cause.code))
}

/** PgBouncer shares its connections statement by statement: there is no transaction. */
export const isStatementPooling = (error: unknown): boolean => statementPooling.test(wordsOf(error))

/** PostgreSQL rolled back in favour of another transaction, and asks to try again. */
export const isConflict = (error: unknown): boolean => {
  const cause = rootCause(error)
  return Predicate.hasProperty(cause, "code") && /^(40001|40P01)$/.test(String(cause.code))
}

/**
 * The connection is of no more use, and whether a commit that was under way stands is not known.
 * Another connection may do.
 */
export const isDisconnection = (error: unknown): boolean =>
  isReadOnly(error) || (!isStatementPooling(error) && signsOf(rootCause(error)).some(isGone))

/** PostgreSQL cannot be written to: it is a standby, or was told so. */
export const isReadOnly = (error: unknown): boolean => hasSign(error, /^25006$/)

/** PostgreSQL, or PgBouncer in front of it, has no more connections to give. */
export const isFull = (error: unknown): boolean =>
  hasSign(error, /^53300$|^no more connections allowed/)

/** PostgreSQL does not speak TLS, or nothing else. */
export const isEncryptionRefused = (error: unknown): boolean =>
  hasSign(error, /^28000$|^The server does not support SSL|^SSL required/)

const hasSign = (error: unknown, sign: RegExp) =>
  signsOf(rootCause(error)).some((said) => sign.test(said))

const isSqlError = (error: unknown): error is SqlError => Predicate.isTagged(error, "SqlError")

const isDatabaseError = (error: unknown): error is SqlError | ParseResult.ParseError =>
  isSqlError(error) || Predicate.isTagged(error, "ParseError")

const rootCause = (error: unknown): unknown =>
  Predicate.hasProperty(error, "cause") && error.cause !== undefined
    ? rootCause(error.cause)
    : error

const signsOf = (cause: unknown): readonly [code: string, said: string] => [
  Predicate.hasProperty(cause, "code") ? String(cause.code) : "",
  cause instanceof AggregateError
    ? cause.errors.map((error) => signsOf(error)[1]).join(", ")
    : cause instanceof Error
      ? cause.message
      : String(cause),
]

const gone =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ECONNRESET|EPIPE|57P0[1-5]|25P0[34]|08\w{3})$|^connect ENOENT|^Connection terminated|^Client (was closed|has encountered a connection error)|^timeout exceeded when trying to connect/

const isGone = (sign: string) => gone.test(sign)

const statementPooling = /statement pooling mode/

const damage = /^(SQLITE_CORRUPT|SQLITE_NOTADB)/

/** By SQLite's result codes, PostgreSQL's error codes, the operating system's, and words. */
const mends: ReadonlyArray<readonly [signs: RegExp, message: string]> = [
  [
    /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|53100|ENOSPC)$/,
    "the disk of the database is full: free some space",
  ],
  [
    /^SQLITE_READONLY/,
    "the database cannot be written: check the permissions of its file and folder",
  ],
  [
    /^SQLITE_BUSY|^SQLITE_LOCKED/,
    "the database is locked by another program: end it, or try later",
  ],
  [damage, "the database file is damaged, or is no SQLite database: restore a backup"],
  [
    /^SQLITE_CANTOPEN|^Cannot open database/,
    "the database file cannot be opened: check AUTHORITY_DATABASE_URL, and that its folder can be written",
  ],
  [/^SQLITE_IOERR/, "the disk of the database failed"],
  [
    /^ENOTFOUND$/,
    "the database cannot be reached: the name of its host is unknown: check AUTHORITY_DATABASE_URL",
  ],
  // PgBouncer says so with the code of a lost connection.
  [
    statementPooling,
    "PgBouncer's pool_mode=statement allows no transaction: set it to transaction or session",
  ],
  [gone, "the database cannot be reached: check AUTHORITY_DATABASE_URL and its server"],
  [
    /^permission denied for schema/,
    "the role may not create tables: grant it USAGE and CREATE on the schema, or start the program once with the schema's owner in AUTHORITY_DATABASE_URL",
  ],
  [
    /^3F000$/,
    "the role may use no schema of its search_path: grant it USAGE on the schema, and CREATE if it is to make the tables",
  ],
  [
    /^permission denied for database/,
    "the role may not connect to the database: grant it CONNECT on the database",
  ],
  // In a server's language other than English, this stands for all of them.
  [
    /^42501$/,
    "the role may not use a table: grant it SELECT, INSERT, UPDATE and DELETE on all tables in the schema",
  ],
  [
    /^53300$/,
    "the server has no connection left: lower AUTHORITY_DATABASE_CONNECTIONS, or raise max_connections or the role's CONNECTION LIMIT",
  ],
  [
    /^28P01$/,
    "the server refuses the user or the password: check AUTHORITY_DATABASE_URL, PGPASSWORD and ~/.pgpass",
  ],
  [
    / has no password$|^empty password returned/,
    "the server asks for a password: put it into AUTHORITY_DATABASE_URL, PGPASSWORD or ~/.pgpass, which only its owner may read",
  ],
  [
    /^28000$/,
    "the server does not let this user in from here: check AUTHORITY_DATABASE_URL, and the server's pg_hba.conf",
  ],
  [
    /^3D000$/,
    "the server has no database of this name: create it, or check AUTHORITY_DATABASE_URL",
  ],
  [
    /^The server does not support SSL/,
    "the server does not speak TLS: turn it on there, or use sslmode=prefer or disable in AUTHORITY_DATABASE_URL",
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED)$/,
    "the server's certificate is not trusted: name the file of its authority as sslrootcert=FILE in AUTHORITY_DATABASE_URL",
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    "the server's certificate is for another host: use a name from it in AUTHORITY_DATABASE_URL, or sslmode=verify-ca",
  ],
  [
    /^(ENOENT|EACCES|EISDIR): .*, (open|read)\b/,
    "a file that AUTHORITY_DATABASE_URL names cannot be read: check its path and permissions",
  ],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/, "the server's certificate is not valid today: renew it"],
  [
    /^25006$/,
    "the database is read-only: connect to its primary server, or set default_transaction_read_only off",
  ],
  [/^57014$/, "the database is too slow, or locked by another program"],
  [/^28\w{3}$/, "the database refuses the connection: check AUTHORITY_DATABASE_URL"],
]
