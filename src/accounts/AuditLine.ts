/** One line of the audit log: an operator's change, or an act that was refused. */
import * as Schema from "effect/Schema"

/** The details of an act, for people. A refused act has the reason under `refused`. */
export const Detail = Schema.Record({
  key: Schema.String,
  value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean, Schema.Null),
})
export type Detail = typeof Detail.Type

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

/** The longest actor or subject that a line keeps, in UTF-16 code units. */
const longestName = 200

/** Cuts an actor or a subject. Half a surrogate pair is no text that a store keeps. */
export const cut = (name: string) => name.slice(0, longestName).toWellFormed()
