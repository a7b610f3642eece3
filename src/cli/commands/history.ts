/** Shows the figures of a URL over time, from the database and free of charge. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { defaultRows, maxRows } from "../../contract/Limits.ts"
import * as FigureHistory from "../../providers/figures/FigureHistory.ts"
import * as Settings from "../../Settings.ts"
import { table } from "../Output.ts"
import * as Command from "../Command.ts"

export const command = Command.onDatabase({
  examples: ["authority history example.com --limit 10"],
  declare: (command) =>
    command
      .argument("<URL>", "domain or URL")
      .option("--limit <N>", "maximum observations, newest first", String(defaultRows)),
  options: Schema.Struct({
    url: Schema.String,
    limit: Command.wholeNumber(1, "").pipe(
      Schema.filter((limit) => limit <= maxRows),
      Schema.annotations({
        message: () => ({ message: `expected 1 to ${maxRows}`, override: true }),
      }),
    ),
  }),
  act: ({ limit, url }) =>
    Effect.gen(function* () {
      const { cacheTtl, history: kept } = yield* Settings.Settings
      const history = yield* Effect.flatMap(FigureHistory.FigureHistory, (history) =>
        history.of(url, limit, "operator"),
      ).pipe(Effect.provide(FigureHistory.layer({ kept, cacheTtl })))
      return FigureHistory.documentOf(history)
    }).pipe(Effect.provide(Settings.layer)),
  text: ({ observations }) =>
    table(
      [
        ["FROM", null, ({ fetchedAt }) => fetchedAt],
        ["TO", null, ({ lastFetchedAt }) => lastFetchedAt],
        ["PROVIDER", null, ({ provider }) => provider],
        ["INDEX", null, ({ index }) => index],
        ["DA", null, ({ domainAuthority }) => domainAuthority],
        ["PA", null, ({ pageAuthority }) => pageAuthority],
        ["SPAM", null, ({ spamScore }) => spamScore ?? null],
      ],
      observations,
    ),
})
