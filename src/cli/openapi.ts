import * as Command from "@effect/cli/Command"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Console from "effect/Console"
import { Api } from "../http/Api.ts"
import { json } from "./Output.ts"

export const openapi = Command.make("openapi", { json }, () =>
  Console.log(JSON.stringify(OpenApi.fromApi(Api), undefined, 2)),
).pipe(Command.withDescription("Print the OpenAPI document of the interface"))
