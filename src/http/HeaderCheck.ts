/**
 * Refuses a request with an invalid `Host` or `Transfer-Encoding` or an unsupported
 * `Content-Encoding`. The check runs on every path, before authentication and routing.
 */
import type { IncomingMessage } from "node:http"
import { isIPv6 } from "node:net"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { invalidRequestBody } from "../contract/Envelope.ts"
import { failure } from "./errorAnswer.ts"

/** Returns the error response; undefined when the headers are valid. */
export const refusalOf = (
  request: IncomingMessage,
): HttpServerResponse.HttpServerResponse | undefined => {
  const { headers } = request
  if (!hasValidHost(request)) return badHeader(hostMessage)
  const transfer = headers["transfer-encoding"]
  if (transfer !== undefined && transfer.toLowerCase() !== "chunked") {
    return HttpServerResponse.setHeader(badHeader(transferMessage), "connection", "close")
  }
  const content = headers["content-encoding"]
  return content === undefined || isIdentity(content) ? undefined : unsupported
}

const hostMessage = "The request must have exactly one Host header, in the form host or host:port."

const transferMessage = "The header Transfer-Encoding must be chunked and nothing else."

// True when there is exactly one `Host` line and its value is valid. HTTP/1.0 also allows none.
const hasValidHost = ({ httpVersion, rawHeaders }: IncomingMessage) => {
  let host: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length !== 4 || name.toLowerCase() !== "host") continue
    if (host !== undefined) return false
    host = rawHeaders[i + 1]
  }
  return host === undefined ? httpVersion === "1.0" : isHost(host)
}

const isHost = (host: string) => {
  const match = /^(?:\[([^\]]*)\]|(?:[\w.~-]|%[\da-f]{2})*)(?::(\d{0,5}))?$/i.exec(host)
  if (match === null) return false
  const [, address, port = ""] = match
  return (address === undefined || isIPv6(address)) && Number(port) <= 65_535
}

const isIdentity = (encodings: string) =>
  encodings.split(",").every((encoding) => /^\s*(?:identity)?\s*$/i.test(encoding))

const badHeader = (message: string) => {
  const issue = { code: "invalid_header", message, path: [] } as const
  return HttpServerResponse.unsafeJson(invalidRequestBody(message, [issue]), { status: 400 })
}

const unsupported = HttpServerResponse.setHeader(
  failure(415, "The body must be sent without a Content-Encoding."),
  "accept-encoding",
  "identity",
)
