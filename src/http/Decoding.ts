/**
 * Makes the 400 of every endpoint whose path, query and body the framework decodes. The framework
 * reports only the first violation, in a body of its own.
 */
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import { InvalidRequest, PayloadTooLarge } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"

/** The schemas of an endpoint that the framework decodes. */
interface Endpoint {
  readonly pathSchema: Part
  readonly urlParamsSchema: Part
  readonly payloadSchema: Part
}

type Part = Option.Option<Schema.Schema.AnyNoContext>

/** Turns the framework's decoding error into the contract's, which lists every violation. */
export const explained =
  (endpoint: Endpoint) =>
  <A, E, R>(app: Effect.Effect<A, E, R>) =>
    app.pipe(
      // The framework turns the errors of reading a body into defects.
      Effect.catchSomeDefect((defect) =>
        defect instanceof InvalidRequest || defect instanceof PayloadTooLarge
          ? Option.some(Effect.fail(defect))
          : Option.none(),
      ),
      Effect.catchIf(
        (error) => error instanceof HttpApiDecodeError,
        (error) =>
          Effect.flatMap(violations(endpoint), (issues) =>
            // Without violations, the answer could not be encoded: a bug.
            issues.length === 0 ? Effect.die(error) : Effect.fail(InvalidRequest.because(issues)),
          ),
      ),
    )

const violations = ({ pathSchema, payloadSchema, urlParamsSchema }: Endpoint) =>
  Effect.gen(function* () {
    const { params } = yield* HttpRouter.RouteContext
    const query = yield* HttpServerRequest.ParsedSearchParams
    const { json } = yield* HttpServerRequest.HttpServerRequest
    const body = Option.isSome(payloadSchema) ? yield* Effect.orDie(json) : undefined
    const parts = [
      [pathSchema, params],
      [urlParamsSchema, query],
      [payloadSchema, body],
    ] as const
    const issues = yield* Effect.forEach(parts, ([schema, value]) => issuesOf(schema, value))
    return issues.flat()
  })

const issuesOf = (schema: Part, value: unknown): Effect.Effect<ReadonlyArray<Issues.Issue>> =>
  Option.match(schema, {
    onNone: () => Effect.succeed([]),
    onSome: (schema) =>
      Effect.match(ParseResult.decodeUnknown(schema, { errors: "all" })(value), {
        onSuccess: () => [],
        onFailure: Issues.fromParseIssue,
      }),
  })
