/**
 * The OpenAPI document of `HttpProviderProtocol.ts`. The published file `openapi.json` is a copy of it, and
 * a test fails when the two differ.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { withoutFramework } from "../../src/contract/OpenApiDocument.ts"
import { HttpProviderProtocol } from "../../src/providers/HttpProviderProtocol.ts"

export const document = withoutFramework(OpenApi.fromApi(HttpProviderProtocol))
