/**
 * Classifies the errors of SQLite, PostgreSQL and PgBouncer. Describes them, and errors of files,
 * to operators and advises what to do.
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import { StoreFailure } from "./StoreFailure.ts"

/**
 * Turns database errors into StoreFailure defects, because the callers of a store cannot repair its
 * database. Leaves other errors unchanged.
 */
export const orDie = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, Exclude<E, SqlError | ParseResult.ParseError>, R> =>
  Effect.catchAll(effect, (error) =>
    isDatabaseError(error)
      ? Effect.die(describe(error))
      : Effect.fail(error as Exclude<E, SqlError | ParseResult.ParseError>),
  )

/**
 * Describes a database error to the operator in one sentence: what is wrong, what to do, and the
 * database's own message. Returns a StoreFailure unchanged.
 */
export const describe = (error: unknown): StoreFailure => {
  if (error instanceof StoreFailure) return error
  const original = wordsOf(error)
  const known = adviceFor(error)
  return new StoreFailure({
    message: known === undefined ? `the database failed (${original})` : `${known} (${original})`,
    cause: error,
  })
}

/** The original message of the database or the operating system. */
export const wordsOf = (error: unknown): string => codeAndMessage(error)[1]

/** The original error code of the database or the operating system; "" when there is none. */
export const codeOf = (error: unknown): string => codeAndMessage(error)[0]

/**
 * Returns only what is wrong, which anyone may read, without the advice and the original message.
 */
export const summarize = (error: unknown): string =>
  adviceFor(error)?.replace(/;.*/, "") ?? "the database failed"

const adviceFor = (error: unknown): string | undefined => {
  const [code, message] = codeAndMessage(error)
  return advice.find(([pattern]) => pattern.test(code) || pattern.test(message))?.[1]
}

/** Says for each unreadable column of a row why it cannot be decoded. */
export const unreadable = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ message, path }) => `${path.join(".")}: ${message}`)
    .join("; ")

/** True when another connection holds SQLite's lock. A retry may succeed. */
export const isBusy = (error: unknown): boolean => codeOf(error).startsWith("SQLITE_BUSY")

export const isDamage = (error: unknown): boolean => damage.test(codeOf(error))

export const isDuplicate = (error: unknown): boolean =>
  /^(23505|SQLITE_CONSTRAINT_UNIQUE|SQLITE_CONSTRAINT_PRIMARYKEY)$/.test(codeOf(error))

/**
 * True when the data is at fault, not the database: a constraint rejects it, or a stored row cannot
 * be decoded. The transaction was rolled back, and a retry with the same data would fail again.
 */
export const isBadData = (error: unknown): boolean =>
  Predicate.isTagged(error, "ParseError") || /^(SQLITE_CONSTRAINT|2[23]\w{3}$)/.test(codeOf(error))

/** True when the database role lacks a permission that a GRANT statement can give. */
export const isForbidden = (error: unknown): boolean => /^(42501|3F000)$/.test(codeOf(error))

/**
 * True when PgBouncer runs with pool_mode=statement, which does not allow transactions. PgBouncer
 * reports this with the code of a lost connection.
 */
export const isStatementPooling = (error: unknown): boolean => statementPooling.test(wordsOf(error))

/**
 * True when the database rolled back because of a serialization failure or a deadlock. A retry may
 * succeed. A distributed engine may return this for any statement, even COMMIT; some engines use
 * another code with the same text.
 */
export const isConflict = (error: unknown): boolean => matches(error, conflict)

/**
 * True when the connection is lost, or the server cannot be reached, has no free connection or is
 * read-only. A new connection may succeed. A commit in progress may have succeeded or failed.
 */
export const isDisconnection = (error: unknown): boolean =>
  isReadOnly(error) ||
  isFull(error) ||
  (!isStatementPooling(error) && matches(error, connectionLost))

/** True when the server cancelled a statement that exceeded its time limit. */
export const isTooSlow = (error: unknown): boolean => codeOf(error) === "57014"

/**
 * True when PostgreSQL accepts no writes: it is a standby, or default_transaction_read_only is on.
 */
export const isReadOnly = (error: unknown): boolean => matches(error, /^25006$/)

/** True when PostgreSQL or PgBouncer has reached its connection limit. */
export const isFull = (error: unknown): boolean =>
  matches(error, /^53300$|^no more connections allowed/)

const matches = (error: unknown, pattern: RegExp) =>
  codeAndMessage(error).some((text) => pattern.test(text))

const isDatabaseError = (error: unknown): error is SqlError | ParseResult.ParseError =>
  Predicate.isTagged(error, "SqlError") || Predicate.isTagged(error, "ParseError")

const rootCause = (error: unknown): unknown =>
  Predicate.hasProperty(error, "cause") && error.cause !== undefined
    ? rootCause(error.cause)
    : error

const codeAndMessage = (error: unknown): readonly [code: string, message: string] => {
  const cause = rootCause(error)
  if (ParseResult.isParseError(cause)) return ["ParseError", unreadable(cause)]
  return [
    Predicate.hasProperty(cause, "code") ? String(cause.code) : "",
    cause instanceof AggregateError
      ? cause.errors.map((each) => wordsOf(each)).join(", ")
      : cause instanceof Error
        ? cause.message.trim()
        : String(cause),
  ]
}

const conflict = /^(40001|40P01)$|^restart transaction|^restart read required/i

const connectionLost =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ECONNRESET|EPIPE|57P0[1-5]|25P0[34]|40003|08\w{3})$|^connect ENOENT|^Connection terminated|^Client (was closed|has encountered a connection error)|^timeout exceeded when trying to connect/

const statementPooling = /statement pooling mode/

const diskFull = /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|53100|ENOSPC)$/

const damage = /^(SQLITE_CORRUPT|SQLITE_NOTADB)/

/**
 * Says what is wrong and what to do. The first entry that matches an error's code or message
 * applies.
 */
const advice: ReadonlyArray<readonly [pattern: RegExp, message: string]> = [
  [/^ParseError$/, "a stored row cannot be read; 'authority doctor' names it"],
  [diskFull, "the disk is full; free some space"],
  [
    /^SQLITE_READONLY/,
    "the database cannot be written; check the permissions of its file and folder",
  ],
  [
    /^SQLITE_BUSY|^SQLITE_LOCKED|^57014$/,
    "the database is too slow, or locked by another program; end that program, or try later",
  ],
  [damage, "the database file is damaged, or is not an SQLite database; restore a backup"],
  [
    /^SQLITE_CANTOPEN|^Cannot open database/,
    "the database file cannot be opened; check AUTHORITY_DATABASE_URL, and that its folder can be written",
  ],
  [
    /^SQLITE_IOERR/,
    "the disk of the database failed; check the disk, then run 'authority credits verify'",
  ],
  // Must precede `connectionLost`: PgBouncer sends this error with the code of a lost connection.
  [
    statementPooling,
    "PgBouncer's pool_mode=statement does not allow transactions; set pool_mode to transaction or session",
  ],
  [
    connectionLost,
    "the database cannot be reached; check AUTHORITY_DATABASE_URL and the database server",
  ],
  [
    /^(42501|3F000)$/,
    "the database role lacks a right; grant it as the guide says under 'Running on PostgreSQL'",
  ],
  [
    /^53300$/,
    "the server has no free connection; lower AUTHORITY_DATABASE_CONNECTIONS, or raise max_connections or the role's CONNECTION LIMIT",
  ],
  [
    /^28\w{3}$|password must be a |^empty password returned/,
    "the server refuses the login; check user, password and sslmode in AUTHORITY_DATABASE_URL, PGPASSWORD and ~/.pgpass (with the mode 0600), and the server's pg_hba.conf",
  ],
  [
    /^(ERR_(SSL|TLS|OSSL)_|CERT_|UNABLE_TO_)|SELF_SIGNED|^The server does not support SSL/,
    "TLS with the server failed; check the host, sslmode, sslrootcert, sslcert and sslkey in AUTHORITY_DATABASE_URL, as the guide says under 'Connection strings'",
  ],
  [
    /^25006$/,
    "the database is read-only; connect to its primary server, or set default_transaction_read_only off",
  ],
]

/**
 * Says why a file cannot be read or written, and what to do, with the original message in brackets.
 * Returns only the message of any other error.
 */
export const ofFile = (cause: unknown): string => {
  const original = cause instanceof Error ? cause.message : String(cause)
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : ""
  const problem = problemsOfFiles.find(([codes]) => codes.includes(code))?.[1]
  return problem === undefined ? original : `${problem} (${original})`
}

const problemsOfFiles: ReadonlyArray<readonly [codes: ReadonlyArray<string>, problem: string]> = [
  [["ENOENT", "ENOTDIR"], "there is no such file or folder; check the path"],
  [["EEXIST"], "it exists already; name another file"],
  [["EISDIR"], "it is a folder; name a file"],
  [["EACCES", "EPERM"], "the right is missing; check the permissions of the file and its folder"],
  [["EROFS"], "the disk is read-only; make it writable, or use another disk"],
  [["ENOSPC"], "the disk is full; free some space"],
]
