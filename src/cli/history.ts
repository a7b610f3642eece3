/** Shows the figures of a URL over time, from the database and free of charge. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { defaultRows, maxRows } from "../contract/Limits.ts"
import type { Observation } from "../contract/Wire.ts"
import * as FigureHistory from "../providers/FigureHistory.ts"
import * as Settings from "../Settings.ts"
import * as Database from "./Database.ts"
import { print, table } from "./Output.ts"
import * as Verb from "./Verb.ts"

export const verb = Verb.make({
  examples: ["authority history example.com --limit 10"],
  declare: (command) =>
    command
      .argument("<URL>", "domain or URL")
      .option("--limit <N>", "maximum observations, newest first", String(defaultRows)),
  options: Schema.Struct({
    url: Schema.String,
    limit: Verb.wholeNumber(1, "").pipe(
      Schema.filter((limit) => limit <= maxRows),
      Schema.annotations({
        message: () => ({ message: `expected 1 to ${maxRows}`, override: true }),
      }),
    ),
    json: Verb.json,
  }),
  run: ({ json, limit, url }) =>
    Effect.gen(function* () {
      const { cacheTtl, history: kept } = yield* Settings.Settings
      const history = yield* Effect.flatMap(FigureHistory.FigureHistory, (history) =>
        history.of(url, limit, "operator"),
      ).pipe(Effect.provide(FigureHistory.layer({ kept, cacheTtl })))
      const document = FigureHistory.documentOf(history)
      yield* print(json, document, tableOf(document.observations))
    }).pipe(Effect.provide(Database.existing), Effect.provide(Settings.layer)),
})

const tableOf = (observations: ReadonlyArray<Observation>) =>
  table(
    ["FROM", "TO", "PROVIDER", "INDEX", "DA", "PA", "SPAM"],
    observations.map((observation) => [
      observation.fetchedAt,
      observation.lastFetchedAt,
      observation.provider,
      observation.index ?? "",
      observation.domainAuthority,
      observation.pageAuthority,
      observation.spamScore ?? "",
    ]),
  )
