import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import { Api } from "../contract/Api.ts"
import { line } from "./Output.ts"

export const openapi = Effect.suspend(() =>
  line(JSON.stringify(OpenApi.fromApi(Api), undefined, 2)),
)
