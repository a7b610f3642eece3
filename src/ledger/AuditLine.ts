/**
 * One line of the audit log: an operator's change, or an act that was refused. Lines are
 * append-only and form a hash chain like the entries of an account.
 */
import * as Schema from "effect/Schema"
import { genesisHash, hashOf } from "./LedgerEntry.ts"

/** The details of an act, for people. A refused act has the reason under `refused`. */
export const Detail = Schema.Record({
  key: Schema.String,
  value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean, Schema.Null),
})
export type Detail = typeof Detail.Type

/** A line as the list shows it. */
export const AuditLine = Schema.Struct({
  /** The number of the line: from 1, without gaps. */
  sequence: Schema.Int,
  /** The time of the act, in epoch milliseconds. */
  at: Schema.Int,
  /** Who acted: `cli:USER` of the operating system, `admin@ADDRESS`, or `serve`. */
  actor: Schema.String,
  /** What was done, such as `key.revoke`. */
  action: Schema.String,
  /** The account's name, the key's id, or what the refused act named. */
  subject: Schema.String,
  detail: Detail,
})
export type AuditLine = typeof AuditLine.Type

/** A row that an act made or changed. Null columns are absent; all others are text. */
export const RowState = Schema.Struct({
  /** The columns that the act changed; null when the act made the row. */
  changed: Schema.NullOr(Schema.Array(Schema.String)),
  row: Schema.Record({ key: Schema.String, value: Schema.String }),
})
export type RowState = typeof RowState.Type
type Row = RowState["row"]

/** A line as it is stored. */
export const StoredLine = Schema.Struct({
  ...AuditLine.fields,
  detail: Schema.parseJson(Detail),
  /** The table and the id of the account or the key that was changed; null for a refused act. */
  rowTable: Schema.NullOr(Schema.Literal("accounts", "api_keys")),
  rowId: Schema.NullOr(Schema.String),
  /** The row after the act; null when the act changed no row. */
  state: Schema.NullOr(Schema.parseJson(RowState)),
  /** Credits that the act gave to the account, negative for a correction; null for other acts. */
  granted: Schema.NullOr(Schema.Int),
  /** SHA-256 over the previous line's hash and every field above, in hexadecimal. */
  hash: Schema.String,
})
export type StoredLine = typeof StoredLine.Type
export type Unsealed = Omit<StoredLine, "sequence" | "hash">

/** The number of lines, and the hash of the last one. */
export const LogHead = Schema.Struct({ entries: Schema.NonNegativeInt, head: Schema.String })
export type LogHead = typeof LogHead.Type

/** The head of a log without lines. */
export const emptyLog: LogHead = { entries: 0, head: genesisHash }

const encodeDetail = Schema.encodeSync(Schema.parseJson(Detail))
const encodeState = Schema.encodeSync(Schema.NullOr(Schema.parseJson(RowState)))

/** A line with its JSON as the text that is stored and hashed. */
export type Encoded = typeof StoredLine.Encoded

/** Computes the hash of a line. `previous` is the hash of the line before it. */
export const chainHash = (previous: string, line: Omit<Encoded, "hash">): string =>
  hashOf([
    previous,
    line.sequence,
    line.at,
    line.actor,
    line.action,
    line.subject,
    line.detail,
    line.rowTable,
    line.rowId,
    line.state,
    line.granted,
  ])

/** The longest actor or subject that a line keeps, in UTF-16 code units. */
const longestName = 200

// The cut can go through a surrogate pair, whose half is no text that a store keeps.
const cut = (name: string) => name.slice(0, longestName).toWellFormed()

/** Adds a line to the end of the log. Returns the new head and the line to store. */
export const seal = (log: LogHead, line: Unsealed): readonly [LogHead, Encoded] => {
  const unsealed = {
    ...line,
    actor: cut(line.actor),
    subject: cut(line.subject),
    detail: encodeDetail(line.detail),
    state: encodeState(line.state),
    sequence: log.entries + 1,
  }
  const hash = chainHash(log.head, unsealed)
  return [
    { entries: unsealed.sequence, head: hash },
    { ...unsealed, hash },
  ]
}

/** What the lines of one row say about the row. */
export interface Expected {
  readonly row: Row
  /** The last line of the row. */
  readonly line: number
  /** The first column that changed without a line; undefined when none did. */
  readonly tampered: string | undefined
}

/** Adds a line's state to what the earlier lines of the row say. */
export const follow = (before: Expected | undefined, line: number, state: RowState): Expected => {
  if (before === undefined) return { row: state.row, line, tampered: undefined }
  const row = Object.fromEntries([
    ...Object.entries(before.row).filter(([column]) => state.changed?.includes(column) !== true),
    ...Object.entries(state.row).filter(([column]) => state.changed?.includes(column) === true),
  ])
  return { row, line, tampered: before.tampered ?? differenceOf(row, state.row) }
}

/** The first column in which two rows differ; undefined when they are the same. */
export const differenceOf = (a: Row, b: Row): string | undefined =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].find((column) => a[column] !== b[column])
