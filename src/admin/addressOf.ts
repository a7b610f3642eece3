import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Option from "effect/Option"

/** The address that a request came from: the proxy's address behind a proxy. */
export const addressOf = ({ remoteAddress }: HttpServerRequest) =>
  Option.getOrElse(remoteAddress, () => "unknown")
