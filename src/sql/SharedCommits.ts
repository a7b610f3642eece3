/**
 * Lets the stores of a process share commits on SQLite. SQLite has one writer, so without this the
 * commits of two stores wait for each other, and each waits for the disk.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { StoreFailure } from "../StoreFailure.ts"
import * as GroupCommit from "./GroupCommit.ts"

/** What a store does in a commit. */
export interface Part {
  /** May run several times, so it must check whether the former run was committed. */
  readonly statements: Effect.Effect<void, unknown>
  /** Adds what the store does when the commit has ended. Default: nothing. */
  readonly ending?: (commit: Effect.Effect<void, StoreFailure>) => Effect.Effect<void, StoreFailure>
}

/** Makes the part of a store that has these commands. */
type Begin<Command> = (commands: Arr.NonEmptyReadonlyArray<Command>) => Part

/** A command of any store. */
interface Entry {
  readonly store: { readonly begin: () => ReadonlyArray<Part> }
  /** Gives the command to its store, which begins its part with all commands that it got. */
  readonly give: () => void
}

/** The queue of all stores. */
export class SharedCommits extends Context.Tag("authority/sql/SharedCommits")<
  SharedCommits,
  GroupCommit.Queue<Entry>
>() {}

/** Use it for SQLite only: on PostgreSQL, the stores would wait for each other's row locks. */
export const layer: Layer.Layer<SharedCommits, never, SqlClient.SqlClient> = Layer.scoped(
  SharedCommits,
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    GroupCommit.make((entries: ReadonlyArray<Entry>) =>
      Effect.suspend(() => {
        for (const { give } of entries) give()
        const stores = new Set(entries.map(({ store }) => store))
        return commit(
          sql,
          Array.from(stores).flatMap((store) => store.begin()),
        )
      }),
    ),
  ),
)

/** Makes the queue of a store: its own, or its place in the queue of all stores. */
export const queueOf = <Command>(
  sql: SqlClient.SqlClient,
  begin: Begin<Command>,
): Effect.Effect<GroupCommit.Queue<Command>, never, Scope.Scope> =>
  Effect.flatMap(
    Effect.serviceOption(SharedCommits),
    Option.match({
      onNone: () =>
        GroupCommit.make((commands: Arr.NonEmptyReadonlyArray<Command>) =>
          Effect.suspend(() => commit(sql, [begin(commands)])),
        ),
      onSome: (shared) => Effect.succeed(placeIn(shared, begin)),
    }),
  )

const placeIn = <Command>(
  shared: GroupCommit.Queue<Entry>,
  begin: Begin<Command>,
): GroupCommit.Queue<Command> => {
  let given: Array<Command> = []
  const store = {
    begin: () => {
      const commands = given
      given = []
      return Arr.isNonEmptyReadonlyArray(commands) ? [begin(commands)] : []
    },
  }
  return {
    submit: (command, callback, limit) =>
      shared.submit({ store, give: () => given.push(command) }, callback, limit),
  }
}

const commit = (sql: SqlClient.SqlClient, parts: ReadonlyArray<Part>) =>
  parts.reduce(
    (whole, { ending }) => ending?.(whole) ?? whole,
    GroupCommit.inTransaction(sql)(
      Effect.forEach(parts, ({ statements }) => statements, { discard: true }),
    ),
  )
