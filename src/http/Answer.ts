/** An answer before it is on the wire, whoever gives it. */
import type { IncomingMessage } from "node:http"
import type * as Effect from "effect/Effect"
import type { RequestId } from "../RequestId.ts"

/** A response as it goes out: all of it at once. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
  /** Whether each character of the body is a byte, where that is known. */
  readonly isAscii?: boolean
}

/** An error that the contract does not declare, by its status. */
export const failure = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({ status, headers, body: JSON.stringify({ success: false, message }) })

export const internalErrorMessage = "Internal server error."

/** Answers one request, whatever it is; a defect is all that is left to its caller. */
export type Handler = (request: IncomingMessage, requestId: RequestId) => Effect.Effect<Answer>
