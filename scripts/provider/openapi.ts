/**
 * The OpenAPI document of the protocol of `HttpProtocol.ts`. A test writes it to `openapi.json`.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { withoutFramework } from "../../src/contract/OpenApiDocument.ts"
import { HttpProtocol } from "../../src/providers/HttpProtocol.ts"

export const document = withoutFramework(OpenApi.fromApi(HttpProtocol))
