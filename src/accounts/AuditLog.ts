/**
 * The port (interface) to the audit log, which records every change that an operator made and every
 * change that was refused. A store writes the line in the same transaction as the change.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ApiKey, ApiKeyId } from "./ApiKey.ts"
import type { Change } from "./ApiKeys.ts"
import { textOf } from "../ledger/budgets/Budget.ts"
import { inTime } from "../ledger/StoreTimeout.ts"
import { isoTime } from "./TimeSpan.ts"

/** The details of an act, for people. The reason why an act was refused is under `refused`. */
export const Detail = Schema.Record({
  key: Schema.String,
  value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean, Schema.Null),
})
export type Detail = typeof Detail.Type

/** One line of the audit log: a change by an operator, or an act that was refused. */
export const AuditLine = Schema.Struct({
  /** The number of the line, counted from 1 without gaps. */
  sequence: Schema.Int,
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

/** The maximum length of a line's actor or subject, in UTF-16 code units. */
const longestName = 200

/** Shortens an actor or a subject, and removes half a surrogate pair, which stores cannot keep. */
export const cut = (name: string) => name.slice(0, longestName).toWellFormed()

/**
 * Who makes the changes of the current fiber: `serve`, unless the command line or the HTTP
 * administration sets another name.
 */
export class Actor extends Context.Reference<Actor>()("authority/Actor", {
  defaultValue: () => "serve",
}) {}

/** A request of the HTTP administration with an idempotency key. */
export interface ActRequest {
  readonly key: string
  readonly fingerprint: string
  /** Runs when the act was already done for an equal request. */
  readonly onRepeat: Effect.Effect<void>
}

/** The idempotency key of an act was used for another request. */
export class ActKeyReused extends Data.TaggedError("ActKeyReused") {
  override get message() {
    return "This Idempotency-Key was used with another request; use a new key for a new request."
  }
}

/** The request of the current fiber's act; undefined without an idempotency key. */
export class CurrentAct extends Context.Reference<CurrentAct>()("authority/ActRequest", {
  defaultValue: (): ActRequest | undefined => undefined,
}) {}

/** An act that was already done under an idempotency key. */
export interface FormerAct {
  readonly action: string
  readonly fingerprint: string
  /** The account's name or id, or the key's id. */
  readonly rowId: string | null
}

/** Something that an operator did or tried. */
export interface Act {
  /** A noun and a verb, such as `key.revoke`. */
  readonly action: string
  /** The account's name, the key's id, or what the refused act named. */
  readonly subject: string
  readonly detail: Detail
}

export interface Page {
  readonly limit: number
  /** Lists only lines with a lower sequence. */
  readonly before?: number | undefined
  /** `subject`, `actor` and `action` each restrict the list to lines with that value. */
  readonly subject?: string | undefined
  readonly actor?: string | undefined
  readonly action?: string | undefined
}

/** Every method may die with StoreFailure. */
export class AuditLog extends Context.Tag("authority/AuditLog")<
  AuditLog,
  {
    /** Appends a line with the current Actor, for an act that changes no store. */
    readonly append: (act: Act) => Effect.Effect<void>
    /**
     * Returns the acts that were done under an idempotency key. Under one key, each act can be done
     * once: a second attempt dies and changes nothing.
     */
    readonly doneUnder: (key: string) => Effect.Effect<ReadonlyArray<FormerAct>>
    /** Lists lines, newest first. */
    readonly list: (page: Page) => Effect.Effect<ReadonlyArray<AuditLine>>
  }
>() {}

/** The details recorded for acts on keys. Times are epoch milliseconds. */
export const keyDetail = {
  created: (
    { budget, expiresAt, label, scopes, start }: ApiKey,
    replaces?: ApiKeyId | undefined,
  ): Detail => ({
    label,
    start,
    expiresAt: isoTime(expiresAt),
    scopes: scopes.join(","),
    ...(budget != null && { budget: textOf(budget) }),
    ...(replaces !== undefined && { replaces }),
  }),
  rotated: (successor: ApiKeyId, expiresAt: number): Detail => ({
    successor,
    expiresAt: isoTime(expiresAt),
  }),
  updated: ({ budget, label, scopes }: Change): Detail => ({
    ...(label !== undefined && { label }),
    ...(scopes !== undefined && { scopes: scopes.join(",") }),
    ...(budget !== undefined && { budget: budget === null ? "none" : textOf(budget) }),
  }),
  revoked: (revokedAt: number): Detail => ({ revokedAt: isoTime(revokedAt) }),
}

/**
 * Appends a line with the error's message when the change fails with a typed error. The line leaves
 * the idempotency key unused, because nothing was done.
 */
export const refused =
  (action: string, subject: string) =>
  <A, E extends { readonly message: string }, R>(
    change: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E, R | AuditLog> =>
    Effect.tapError(change, ({ message }) =>
      Effect.flatMap(AuditLog, ({ append }) =>
        Effect.provideService(
          append({ action, subject, detail: { refused: message } }),
          CurrentAct,
          undefined,
        ),
      ),
    )

/**
 * Makes a change that appends a line with this action. If an equal request already made it under
 * the same idempotency key, reads the changed row again by its id instead. Fails with ActKeyReused
 * when the key was used for another request.
 */
export const once = <A, E, R, B, E2, R2>(
  action: string,
  change: Effect.Effect<A, E, R>,
  again: (rowId: string) => Effect.Effect<B, E2, R2>,
) =>
  Effect.gen(function* () {
    const current = yield* CurrentAct
    if (current === undefined) return yield* change
    const { fingerprint, key, onRepeat } = current
    const { doneUnder } = yield* AuditLog
    const unlessDone = <E3, R3>(otherwise: Effect.Effect<A | B, E3, R3>) =>
      Effect.flatMap(
        doneUnder(key),
        (acts): Effect.Effect<A | B, ActKeyReused | E2 | E3, R2 | R3> => {
          if (acts.some((act) => act.fingerprint !== fingerprint)) return new ActKeyReused()
          const act = acts.find((one) => one.action === action)
          return act === undefined ? otherwise : Effect.zipLeft(again(act.rowId ?? ""), onRepeat)
        },
      )
    // This act may have been refused because an equal request did it in the meantime.
    return yield* unlessDone(
      Effect.catchAllCause(change, (cause) => unlessDone(Effect.failCause(cause))),
    )
  })

/** The lines of a page, as the command line and the HTTP administration show them. */
export const entries = (page: Page) =>
  Effect.gen(function* () {
    const lines = yield* inTime((yield* AuditLog).list(page))
    return { entries: lines.map((line) => ({ ...line, at: isoTime(line.at) })) }
  })
