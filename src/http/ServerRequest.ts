/**
 * Implements the framework's request interface over a Node request, for `Runner`. The framework has
 * such a class, but does not export the class. `Runner` replaces the framework's own runner, which
 * would take most of the time of a request.
 */
import * as Cookies from "@effect/platform/Cookies"
import * as Headers from "@effect/platform/Headers"
import type { HttpMethod } from "@effect/platform/HttpMethod"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import { RequestError } from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { MultipartError } from "@effect/platform/Multipart"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Body from "./Body.ts"
import type { Request } from "./Request.ts"

type Modification = Parameters<HttpServerRequest.HttpServerRequest["modify"]>[0]

export class ServerRequest
  extends Inspectable.Class
  implements HttpServerRequest.HttpServerRequest
{
  readonly [HttpServerRequest.TypeId]: HttpServerRequest.TypeId = HttpServerRequest.TypeId
  readonly [HttpIncomingMessage.TypeId]: HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly source: Request
  readonly method: HttpMethod
  private readonly modification: Modification
  private ownHeaders: Headers.Headers | undefined
  private parsed: Effect.Effect<unknown> | undefined

  constructor(source: Request, method: HttpMethod, modification: Modification = {}) {
    super()
    this.source = source
    this.method = method
    this.modification = modification
    this.ownHeaders = modification.headers
  }

  get originalUrl(): string {
    return this.source.url ?? ""
  }

  get url(): string {
    return this.modification.url ?? this.originalUrl
  }

  get headers(): Headers.Headers {
    this.ownHeaders ??= Headers.fromInput(this.source.headers)
    return this.ownHeaders
  }

  get remoteAddress() {
    return Option.fromNullable(this.modification.remoteAddress ?? this.source.socket.remoteAddress)
  }

  get cookies() {
    return Cookies.parseHeader(this.headers["cookie"] ?? "")
  }

  get text() {
    return this.unsupported
  }

  get json() {
    // The framework makes a defect of any error, and `Decoding` the answer.
    return Effect.suspend(() => this.parsed ?? Effect.orDie(Body.json(this.source))).pipe(
      Effect.tap((value) => {
        this.parsed = Effect.succeed(value)
      }),
    )
  }

  get urlParamsBody() {
    return this.unsupported
  }

  get arrayBuffer() {
    return this.unsupported
  }

  get stream() {
    return Stream.fromEffect(this.unsupported)
  }

  /** No endpoint has a multipart body. */
  get multipart() {
    return Effect.zipRight(
      this.json,
      Effect.fail(new MultipartError({ reason: "Parse", cause: "unsupported" })),
    )
  }

  get multipartStream() {
    return Stream.fail(new MultipartError({ reason: "Parse", cause: "unsupported" }))
  }

  /** The contract has no WebSockets. */
  get upgrade() {
    return this.unsupported
  }

  modify(modification: Modification): ServerRequest {
    return new ServerRequest(this.source, this.method, {
      ...this.modification,
      ...modification,
    })
  }

  override toJSON(): unknown {
    return HttpIncomingMessage.inspect(this, {
      _id: "@effect/platform/HttpServerRequest",
      method: this.method,
      url: this.originalUrl,
    })
  }

  /** Only JSON is read: `json` refuses another content type. */
  private get unsupported(): Effect.Effect<never, RequestError> {
    return Effect.zipRight(
      this.json,
      Effect.fail(
        new RequestError({ request: this, reason: "Decode", description: "unsupported" }),
      ),
    )
  }
}
