/** Reads and decodes the body of a request. Never buffers more than the contract's limit. */
import { isUtf8 } from "node:buffer"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import type * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import * as Batch from "../Batch.ts"
import { BatchRequest } from "../contract/Api.ts"
import { InvalidRequest, type PayloadTooLarge } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"
import { maxBodyBytes, maxBodyParts, maxJudgedItems } from "../contract/Limits.ts"
import * as TypeGuard from "../schema/TypeGuard.ts"
import * as ArrivingBody from "./ArrivingBody.ts"
import { JsonParts } from "./JsonParts.ts"
import { Request } from "./Request.ts"

type Decoded<A> = Either.Either<A, InvalidRequest | PayloadTooLarge>

export interface Decoder<A> {
  /** Waits for the body and decodes it. A client that hangs up interrupts the fiber. */
  readonly whole: (
    request: unknown,
    account: AccountId,
  ) => Effect.Effect<A, InvalidRequest | ArrivingBody.Refusal>
}

/** Waits for a body and parses it. A request without a body has an empty object. */
export const json = (
  request: Request,
): Effect.Effect<unknown, InvalidRequest | ArrivingBody.Refusal> => {
  const { "content-type": contentType, "content-length": length } = request.headers
  if (!request.hasBody) return Effect.succeed({})
  if (!isJson(contentType)) return invalid([Issues.invalidContentType])
  if (Number(length) > maxBodyBytes) return tooLarge
  const { body } = request
  return body === undefined
    ? ArrivingBody.collect(request, noAccount, parse)
    : Either.flatMap(withFewParts(body), parse)
}

// Bounds the bodies whose request has no account.
const noAccount = AccountId.make("none")

const decoder = <A, B>(schema: Schema.Schema<A>, make: (decoded: A) => B): Decoder<B> => {
  const decodeBytes = bytesDecoder(schema)
  const decode = (bytes: Buffer) => Either.map(decodeBytes(bytes), make)
  const arrived = (request: Request): Decoded<B> | undefined => {
    if (!isJson(request.headers["content-type"])) return invalid([Issues.invalidContentType])
    if (Number(request.headers["content-length"]) > maxBodyBytes) return tooLarge
    const { body } = request
    return body === undefined ? undefined : Either.flatMap(withFewParts(body), decode)
  }
  return {
    whole: (request, account) =>
      request instanceof Request
        ? (arrived(request) ?? ArrivingBody.collect(request, account, decode))
        : Effect.dieMessage("not a request of this server"),
  }
}

/**
 * Decodes the bytes of a body. In a list, only the length and the first `maxJudgedItems` items are
 * judged.
 */
export const bytesDecoder = <A>(
  schema: Schema.Schema<A>,
): ((bytes: Buffer) => Either.Either<A, InvalidRequest>) => {
  const isValid = TypeGuard.make(schema)
  const judge = ParseResult.decodeUnknownEither(schema, { errors: "all" })
  const judged = (value: unknown) =>
    isValid(value)
      ? Either.right(value)
      : Either.flatMap(judge(shortened(value)), () => judge(value)).pipe(
          Either.mapLeft((issue) => InvalidRequest.because(Issues.fromParseIssue(issue))),
        )
  return (bytes) => Either.flatMap(parse(bytes), judged)
}

export const batch = decoder(BatchRequest, ({ urls }) => Batch.parse(urls))

const isJson = (contentType: string | undefined) =>
  contentType !== undefined && /^\s*application\/json\s*(;|$)/i.test(contentType)

const invalid = (issues: ReadonlyArray<Issues.Issue>) => Either.left(InvalidRequest.because(issues))

const tooLarge = Either.left(ArrivingBody.tooLarge)

const parse = (bytes: Buffer): Either.Either<unknown, InvalidRequest> => {
  if (!isUtf8(bytes)) return invalid([Issues.invalidJson("The body is not UTF-8")])
  try {
    return Either.right(JSON.parse(bytes.toString()))
  } catch {
    return invalid([Issues.invalidJson("The body is not valid JSON")])
  }
}

const withFewParts = (bytes: Buffer): Either.Either<Buffer, InvalidRequest> => {
  const refusal = bytes.length > maxBodyParts ? new JsonParts().add(bytes) : undefined
  return refusal === undefined ? Either.right(bytes) : Either.left(refusal)
}

const shortened = (value: unknown): unknown =>
  Predicate.isReadonlyRecord(value)
    ? Record.map(value, (field) => (Array.isArray(field) ? field.slice(0, maxJudgedItems) : field))
    : value
