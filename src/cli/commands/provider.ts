import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Settings from "../../Settings.ts"
import * as Logging from "../Logging.ts"
import * as providerReport from "./providerReport.ts"
import * as ProviderStatus from "../../server/ProviderStatus.ts"
import * as Verb from "../Verb.ts"

const status = Verb.act({
  examples: ["authority provider status", "authority provider status --live --json"],
  declare: (command) => command.option("--live", "also buy one figure of each vendor (costs rows)"),
  options: Schema.Struct({
    live: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  }),
  act: ({ live }) =>
    ProviderStatus.examineAll({ isLive: live }).pipe(
      Effect.map((providers) => ({ providers })),
      Effect.provide(Logging.layer({ stderr: true })),
      Effect.provide(Settings.layer),
    ),
  text: ({ providers }) =>
    providers
      .map(({ detail, provider, state }) => `${state.padEnd(7)}  ${provider}: ${detail}`)
      .join("\n"),
  failure: ({ providers }) => {
    const unable = providers.filter(({ state }) => state === "failure")
    return unable.length === 0 ? undefined : new CannotServe({ unable })
  },
})

export const verb = Verb.group({
  status: ["Ask each provider of the settings; exit with 1 when one cannot serve", status],
  report: [
    "Show what was bought of each vendor by UTC day, and what was sold",
    providerReport.verb,
  ],
})

class CannotServe extends Data.TaggedError("CannotServe")<{
  readonly unable: ReadonlyArray<ProviderStatus.Finding>
}> {
  override get message() {
    return `these providers cannot serve: ${this.unable.map(({ provider }) => provider).join(", ")}; the output says how to fix them`
  }
}
