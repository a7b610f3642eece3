import * as OpenApi from "@effect/platform/OpenApi"
import * as Console from "effect/Console"
import { Api } from "../contract/Api.ts"

export const openapi = Console.log(JSON.stringify(OpenApi.fromApi(Api), undefined, 2))
