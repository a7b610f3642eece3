import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Api } from "../../contract/Api.ts"
import { line } from "../Output.ts"
import * as Command from "../Command.ts"

export const command = Command.make({
  examples: ["authority openapi"],
  options: Schema.Struct({}),
  run: () => Effect.suspend(() => line(JSON.stringify(OpenApi.fromApi(Api), undefined, 2))),
})
