/**
 * Makes the 400 of every endpoint whose path, query and body the framework decodes. The framework
 * reports only the first violation, in a body of its own.
 */
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { InvalidRequest, PayloadTooLarge } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"

/** The schemas of an endpoint that the framework decodes. */
interface Endpoint {
  readonly pathSchema: Part
  readonly urlParamsSchema: Part
  readonly payloadSchema: Part
  readonly headersSchema: Part
}

type Part = Option.Option<Schema.Schema.AnyNoContext>

/** Turns the framework's decoding error into the contract's, which lists every violation. */
export const explained =
  (endpoint: Endpoint) =>
  <A, E, R>(app: Effect.Effect<A, E, R>) =>
    app.pipe(
      Effect.catchIf(
        (error) => error instanceof HttpApiDecodeError,
        (error) =>
          Effect.flatMap(violations(endpoint), (issues) =>
            // Without violations, the answer could not be encoded: a bug.
            issues.length === 0
              ? Effect.die(error)
              : Effect.fail(InvalidRequest.because(issues, Option.isSome(endpoint.payloadSchema))),
          ),
      ),
      // The framework turns the errors of reading a body into defects.
      Effect.catchSomeDefect((defect) =>
        defect instanceof InvalidRequest || defect instanceof PayloadTooLarge
          ? Option.some(Effect.fail(defect))
          : Option.none(),
      ),
    )

const violations = ({ headersSchema, pathSchema, payloadSchema, urlParamsSchema }: Endpoint) =>
  Effect.gen(function* () {
    const { params } = yield* HttpRouter.RouteContext
    const query = yield* HttpServerRequest.ParsedSearchParams
    const { headers, json } = yield* HttpServerRequest.HttpServerRequest
    const body = Option.isSome(payloadSchema) ? yield* Effect.orDie(json) : undefined
    const issues = [
      ...issuesOf(pathSchema, Issues.decoder, params),
      ...issuesOf(urlParamsSchema, Issues.decoder, query),
      ...issuesOf(payloadSchema, Issues.decoder, body),
    ]
    return issues.length > 0 ? issues : issuesOf(headersSchema, Issues.headersDecoder, headers)
  })

const issuesOf = (schema: Part, decoder: typeof Issues.decoder, value: unknown) =>
  Option.match(schema, {
    onNone: () => [],
    onSome: (schema) => Option.getOrElse(Either.getLeft(decoder(schema)(value)), () => []),
  })
