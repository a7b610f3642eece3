/**
 * Reads the body of a request, and makes the 400 of every endpoint. The framework takes content
 * types other than JSON, and reports only the first violation, in a body of its own.
 */
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { InvalidRequest } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"
import * as Body from "./Body.ts"

/** The schemas of an endpoint that the framework decodes. */
export interface Endpoint {
  readonly pathSchema: Part
  readonly urlParamsSchema: Part
  readonly payloadSchema: Part
  readonly headersSchema: Part
}

type Part = Option.Option<Pick<Schema.Schema.All, "ast">>

/** Wraps the handler of an endpoint, inside of the middleware that admits the request. */
export const explained = (endpoint: Endpoint) => {
  const { payloadSchema } = endpoint
  // A request without a body has an empty object, where every field is optional.
  const isOptional = issuesOf(payloadSchema, Issues.decoder, {}).length === 0
  const bodyOf = (request: HttpServerRequest.HttpServerRequest) =>
    isOptional && Body.isAbsent(request) ? Effect.succeed({}) : Body.json(request)

  return <A, E, R>(app: Effect.Effect<A, E, R>) =>
    Option.isNone(payloadSchema)
      ? withViolations(endpoint, undefined)(app)
      : Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          Effect.flatMap(bodyOf(request), (body) => {
            // Whoever asks the request for its JSON gets this value.
            Object.defineProperty(request, "json", { value: Effect.succeed(body) })
            return withViolations(endpoint, body)(app)
          }),
        )
}

/** Turns the framework's decoding error into the contract's, which lists every violation. */
const withViolations =
  (endpoint: Endpoint, body: unknown) =>
  <A, E, R>(app: Effect.Effect<A, E, R>) => {
    const explain = (error: unknown) =>
      Effect.flatMap(violations(endpoint, body), (issues) =>
        // Without violations, the answer could not be encoded: a bug.
        issues.length === 0
          ? Effect.die(error)
          : Effect.fail(InvalidRequest.because(issues, Option.isSome(endpoint.payloadSchema))),
      )
    return app.pipe(
      Effect.catchIf((error) => error instanceof HttpApiDecodeError, explain),
      // The framework's own text about a deeply nested value overflows the stack.
      Effect.catchSomeDefect((defect) =>
        defect instanceof RangeError ? Option.some(explain(defect)) : Option.none(),
      ),
    )
  }

const violations = (endpoint: Endpoint, body: unknown) =>
  Effect.gen(function* () {
    const { params } = yield* HttpRouter.RouteContext
    const query = yield* HttpServerRequest.ParsedSearchParams
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const issues = [
      ...issuesOf(endpoint.pathSchema, Issues.decoder, params),
      ...issuesOf(endpoint.urlParamsSchema, Issues.decoder, query),
      ...issuesOf(endpoint.payloadSchema, Issues.decoder, body),
    ]
    return issues.length > 0
      ? issues
      : issuesOf(endpoint.headersSchema, Issues.headersDecoder, headers)
  })

const issuesOf = (part: Part, decoder: typeof Issues.decoder, value: unknown) =>
  Option.match(part, {
    onNone: () => [],
    onSome: ({ ast }) =>
      Option.getOrElse(Either.getLeft(decoder(Schema.make(ast))(value)), () => []),
  })
