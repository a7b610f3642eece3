/**
 * The OpenAPI document of `HttpProtocol.ts`. The published file `openapi.json` is a copy of it, and
 * a test fails when the two differ.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { withoutFramework } from "../../src/contract/OpenApiDocument.ts"
import { HttpProtocol } from "../../src/providers/HttpProtocol.ts"

export const document = withoutFramework(OpenApi.fromApi(HttpProtocol))
