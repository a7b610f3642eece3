/** Options that several verbs share. */
import * as Options from "@effect/cli/Options"

export const json = Options.boolean("json").pipe(
  Options.withDescription("Print one JSON document on stdout, and nothing else"),
)

export const accountOption = Options.text("account").pipe(
  Options.withPseudoName("NAME"),
  Options.withDescription("Name or id of the account"),
)
