import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as OpenApi from "@effect/platform/OpenApi"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { AdminApi } from "../../src/contract/AdminApi.ts"
import { Api } from "../../src/contract/Api.ts"
import { InvalidRequest, PaymentRequired, Unauthorized } from "../../src/contract/Envelope.ts"
import { figures, make, succeeding } from "../support/ScriptedProvider.ts"
import { start } from "../support/TestServer.ts"

const text = () => `${JSON.stringify(OpenApi.fromApi(Api), undefined, 2)}\n`

describe("the OpenAPI document", () => {
  it("the OpenAPI document is equal to the committed openapi.json", () =>
    expect(text()).toMatchFileSnapshot("../openapi.json"))

  it("the OpenAPI document contains no names or default texts of the framework", () => {
    for (const trace of [
      "HttpApiDecodeError",
      "_tag",
      "PropertyKey",
      "maxLength(",
      "minItems(",
      "between(",
      "greaterThan",
      "an integer",
      '"additionalProperties": false',
    ]) {
      assert.notInclude(text(), trace)
    }
  })

  it("both OpenAPI documents have the version of the contract, not of the program", () => {
    assert.strictEqual(OpenApi.fromApi(Api).info.version, "1.0.0")
    assert.strictEqual(OpenApi.fromApi(AdminApi).info.version, "1.0.0")
  })

  it("the OpenAPI document describes every schema and answer, with an example of each schema", () => {
    const { components, paths } = JSON.parse(text())
    const { urls } = components.schemas.BatchRequest.properties
    assert.deepInclude(urls, { type: "array", minItems: 1, maxItems: 50 })
    assert.deepInclude(urls.items, { type: "string", minLength: 1, maxLength: 1000 })
    for (const [name, schema] of Object.entries<Record<string, unknown>>(components.schemas)) {
      assert.isString(schema["description"], name)
      if (name !== "ValidationIssue") assert.isArray(schema["examples"], name)
    }
    const answers = Object.values<Record<string, { readonly responses: object }>>(paths).flatMap(
      (methods) => Object.values(methods).flatMap(({ responses }) => Object.values(responses)),
    )
    assert.lengthOf(answers, 52)
    for (const { content, description, headers } of answers) {
      assert.isString(description)
      assert.property(content["application/json"].schema, "$ref")
      assert.property(headers, "x-request-id")
    }
  })

  it('the OpenAPI document distinguishes the kinds of issue by the property "code"', () => {
    const { ValidationIssue, ...schemas } = JSON.parse(text()).components.schemas
    const { mapping, propertyName } = ValidationIssue.discriminator
    assert.strictEqual(propertyName, "code")
    assert.sameMembers(
      ValidationIssue.oneOf.map(({ $ref }: { readonly $ref: string }) => $ref),
      [...new Set(Object.values(mapping))],
    )
    for (const [code, $ref] of Object.entries<string>(mapping)) {
      const { properties } = schemas[$ref.replace("#/components/schemas/", "")]
      assert.include(properties.code.enum, code)
    }
  })

  it.scopedLive("the request that the document's examples make gets 200 on every path", () =>
    Effect.gen(function* () {
      const { key, send } = yield* start()
      const { components, paths } = JSON.parse(text())
      const body = JSON.stringify(components.schemas.BatchRequest.examples[0])
      for (const [path, methods] of Object.entries<object>(paths)) {
        for (const [method, { parameters, requestBody }] of Object.entries(methods)) {
          const query = new URLSearchParams()
          const headers: Record<string, string> = {
            "x-api-key": key,
            "content-type": "application/json",
          }
          for (const { in: place, name, schema } of parameters ?? []) {
            // The API reference page takes the first of these that exists.
            const value = String(schema.examples?.[0] ?? schema.enum?.[0] ?? schema.minimum)
            if (place === "query") query.set(name, value)
            else headers[name] = value
          }
          const { status } = yield* send({
            method: method.toUpperCase(),
            path: `${path}?${query}`,
            headers,
            ...(requestBody !== undefined && { body }),
          })
          assert.strictEqual(status, 200, path)
        }
      }
    }),
  )

  it.scopedLive("the OpenAPI document is served without an API key", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const answer = yield* send({ path: "/openapi.json" })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers["content-type"], "application/json")
      assert.deepStrictEqual(JSON.parse(answer.text), JSON.parse(text()))
    }),
  )
})

describe("a client derived from the API definition", () => {
  const clientOf = ({ key, url }: { readonly key: string; readonly url: string }) =>
    HttpApiClient.make(Api, {
      baseUrl: url,
      transformClient: HttpClient.mapRequest(HttpClientRequest.setHeader("x-api-key", key)),
    }).pipe(Effect.provide(NodeHttpClient.layer))

  const batch = (...urls: ReadonlyArray<string>) => ({ payload: { urls }, headers: {} })

  it.scopedLive("a client derived from the API definition decodes successful answers", () =>
    Effect.gen(function* () {
      const server = yield* start({ provider: make(succeeding).layer, credits: 5 })
      const client = yield* clientOf(server)
      assert.deepStrictEqual(yield* client.checkBatch(batch("example.com", "localhost")), {
        success: true,
        data: {
          successUrls: [{ url: "example.com", ...figures }],
          failedUrls: [{ url: "localhost", reason: "INVALID_URL" }],
        },
        quota: { creditsUsed: 1 },
      })
      assert.deepStrictEqual(yield* client.availableCredits(), {
        success: true,
        data: { availableCredits: 4 },
      })
    }),
  )

  it.scopedLive("error answers are decoded to their error classes", () =>
    Effect.gen(function* () {
      const server = yield* start({ credits: 1 })
      const client = yield* clientOf(server)
      const stranger = yield* clientOf({ ...server, key: "am_wrong" })

      const unauthorized = yield* Effect.flip(stranger.availableCredits())
      assert.instanceOf(unauthorized, Unauthorized)
      assert.match(unauthorized.message, /^The API key is invalid or expired\. Send it in/)

      const unpaid = yield* Effect.flip(client.checkBatch(batch("example.com", "example.org")))
      assert.instanceOf(unpaid, PaymentRequired)
      assert.strictEqual(unpaid.message, "This request needs 2 credits and the account has 1.")

      // The client validates its requests, but does not know which URLs the service accepts.
      const invalid = yield* Effect.flip(
        client.history({ urlParams: { url: "localhost", limit: 1 } }),
      )
      assert.instanceOf(invalid, InvalidRequest)
      assert.strictEqual(invalid instanceof InvalidRequest && invalid.issues.length, 1)
    }),
  )
})
