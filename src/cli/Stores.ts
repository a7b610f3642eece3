/**
 * Opens the stores for verbs. Adapters are imported when a verb needs them: `--help` loads none,
 * and a verb on SQLite does not load the PostgreSQL adapter.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DatabaseStores from "../server/DatabaseStores.ts"
import * as Settings from "../Settings.ts"
import * as Logging from "./Logging.ts"

/**
 * Opens the database. Fails with NoDatabase when the database does not exist, and creates no file.
 */
const existingDatabase = DatabaseStores.databaseOr("fail")

/**
 * Opens the database. If the database cannot be opened, opens an empty database in memory, so that
 * `authority doctor` can still check the providers.
 */
export const forProviders = Layer.suspend(() =>
  Layer.provideMerge(
    DatabaseStores.cache,
    Layer.catchAll(existingDatabase, () => emptyDatabase),
  ),
)

const emptyDatabase = Effect.promise(async () => {
  const Migrations = await import("../sql/Migrations.ts")
  const Sqlite = await import("../sql/Sqlite.ts")
  return Layer.provideMerge(Migrations.layer, Sqlite.layer(":memory:"))
}).pipe(Layer.unwrapEffect)

/**
 * The rankings in the database. `authority dataset import` writes the rankings, and the provider
 * `dataset` reads them.
 */
export const rankings = Effect.promise(async () => {
  const SqlRankings = await import("../sql/Rankings.ts")
  return SqlRankings.layer
}).pipe(Layer.unwrapEffect)

const all = Layer.mergeAll(DatabaseStores.inDatabase, rankings, DatabaseStores.health)

/**
 * Opens all stores in the database that the settings name. Fails with NoDatabase when the database
 * does not exist.
 */
export const layer = Layer.provideMerge(all, existingDatabase)

const forVerbsOn = <A, E>(stores: Layer.Layer<A, E, Settings.Settings>) =>
  stores.pipe(Layer.provide(Logging.layer({ stderr: true })), Layer.provide(Settings.layer))

/** What most verbs need: the stores of an existing database, and a log on stderr. */
export const forVerbs = forVerbsOn(layer)

/**
 * For verbs that create a missing database. The location of a new database is printed on stderr.
 */
export const forCreatingVerbs = forVerbsOn(
  Layer.provideMerge(all, DatabaseStores.databaseOr("create and say so")),
)
