/** The options that several verbs take. */
import * as Options from "@effect/cli/Options"

export const json = Options.boolean("json").pipe(
  Options.withDescription("Print one JSON document and nothing else on stdout"),
)

export const accountOption = Options.text("account").pipe(
  Options.withPseudoName("NAME"),
  Options.withDescription("The account's name or id"),
)
