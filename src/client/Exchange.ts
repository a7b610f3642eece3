/** Sends requests with retries, and decodes the answers. */
import { retryAfterMs } from "../contract/retryAfter.ts"
import { undecidedCharge } from "../contract/Wire.ts"
import * as AnswerSchemas from "./AnswerSchemas.ts"
import * as ClientError from "./ClientError.ts"
import type { Options } from "./ClientTypes.ts"
import * as Request from "./Request.ts"
import * as Signal from "./Signal.ts"

export interface Call {
  readonly path: string
  /** The JSON body. The method is POST when there is a body, otherwise GET. */
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal | undefined
}

/** Returns a function that retries a request; it throws ClientError or the signal's reason. */
export const exchange = (options: Options) => {
  const { onRetry, patienceMs = 90_000, timeoutMs = 60_000 } = options
  const send = sender(options)

  /** The timeout includes the time to read the body. */
  const attempt = async (call: Call) => {
    const timeout = new AbortController()
    const error = new ClientError.TimedOut({ message: "The service did not answer in time." })
    const timer = setTimeout(() => timeout.abort(error), Math.min(timeoutMs, Signal.longestTimerMs))
    const signal = Signal.either(timeout.signal, call.signal)
    try {
      return await Signal.orAborted(send({ ...call, signal }), signal)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw error instanceof ClientError.ClientError ? error : connectionFailed(error)
    } finally {
      clearTimeout(timer)
    }
  }

  return async <A>(call: Call, schema: AnswerSchemas.Schema<A>) => {
    call.signal?.throwIfAborted()
    let failures = 0
    // The time limit starts at the first failure, because one attempt's timeout may be longer.
    let failingSince: number | undefined
    for (;;) {
      try {
        const answer = await attempt(call)
        const body = answer.status === 200 ? AnswerSchemas.parse(schema, answer.body) : undefined
        if (body === undefined) throw failureOf(answer)
        return { answer, body }
      } catch (error) {
        if (!ClientError.isClientError(error) || !error.isTransient) throw error
        const now = performance.now()
        // A 429 shows that the service works, so the time limit starts anew.
        const isLimited = error instanceof ClientError.RateLimited
        failingSince = isLimited ? now : (failingSince ?? now)
        const waitMs = waitOf(error, failures)
        if (now + waitMs > failingSince + patienceMs) throw error
        await onRetry?.(error, waitMs)
        await Signal.sleep(waitMs, call.signal)
        failures += 1
        if (isLimited) failingSince = undefined
      }
    }
  }
}

/** The wait before the next attempt, in milliseconds: the back-off, or a longer `Retry-After`. */
const waitOf = (error: ClientError.AnyClientError, failures: number) => {
  const askedMs = "retryAfterMs" in error ? error.retryAfterMs : 0
  const isInProgress = error instanceof ClientError.RequestInProgress
  return Math.max(askedMs, backoffMs(isInProgress ? 0 : failures))
}

/** Exponential back-off with jitter, so that clients do not all retry at the same moment. */
const backoffMs = (failures: number) =>
  Math.ceil((0.5 + Math.random() / 2) * Math.min(longestMs, firstMs * 2 ** failures))

const firstMs = 250
const longestMs = 10_000

const sender = (options: Options) => {
  const baseUrl = Request.baseUrlOf(options.baseUrl)
  const fetch = options.fetch ?? ((url, request) => globalThis.fetch(url, request))
  const given = {
    ...Request.userAgentHeader(),
    ...Object.fromEntries(new Headers(options.headers)),
  }
  return async ({ headers, json, path, signal }: Call): Promise<Answer> => {
    const hasBody = json !== undefined
    const response = await fetch(`${baseUrl}${path}`, {
      method: hasBody ? "POST" : "GET",
      headers: {
        ...given,
        ...Request.keyHeader(options.apiKey),
        ...headers,
        ...(hasBody && { "content-type": "application/json" }),
      },
      body: hasBody ? JSON.stringify(json) : null,
      signal: signal ?? null,
      // Following a redirect would send the API key to another address.
      redirect: "manual",
    })
    const text = await response.text().catch((cause: unknown) => {
      throw connectionFailed(cause, response.headers.get("x-request-id") ?? undefined)
    })
    return { status: response.status, headers: response.headers, body: bodyOf(text) }
  }
}

export const bodyOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** Maps an answer other than a valid 200 to an error. */
const failureOf = ({ body, headers, status }: Answer): ClientError.AnyClientError => {
  // If the body is not a document of this service, use only the status: a proxy may have answered.
  const message = AnswerSchemas.parse(AnswerSchemas.Refusal, body)?.message
  const requestId = headers.get("x-request-id") ?? undefined
  const details = { message: message ?? messageOf(status), requestId, answer: body }
  const askedMs = retryAfterMs(headers.get("retry-after"), Date.now())
  if (status === 429) {
    return new ClientError.RateLimited({ ...details, retryAfterMs: askedMs ?? 1000 })
  }
  if (status === 500 && message?.startsWith(undecidedCharge)) {
    return new ClientError.ChargeUndecided(details)
  }
  if (status >= 500) {
    return new ClientError.ServiceFailed({ ...details, status, retryAfterMs: askedMs ?? 0 })
  }
  if (message !== undefined) {
    if (status === 401) return new ClientError.Unauthorized(details)
    if (status === 403) return new ClientError.Forbidden(details)
    if (status === 402) {
      const limit = limits.find((one) => one === headers.get("x-limit"))
      return new ClientError.InsufficientCredits({ ...details, limit, retryAfterMs: askedMs })
    }
    if (status === 409) {
      return new ClientError.RequestInProgress({ ...details, retryAfterMs: askedMs ?? 1000 })
    }
    if (status === 422) return new ClientError.IdempotencyKeyReused(details)
  }
  const invalid =
    status === 400 ? AnswerSchemas.parse(AnswerSchemas.InvalidRequest, body) : undefined
  return invalid === undefined
    ? new ClientError.UnexpectedAnswer({ ...details, status })
    : new ClientError.ValidationError({ ...details, issues: invalid.error.issues })
}

const limits = ["balance", "budget"] as const

/** A browser hides the status of a redirect, and reports 0. */
const isRedirect = (status: number) => status === 0 || (status >= 300 && status < 400)

const messageOf = (status: number) =>
  status >= 500
    ? `The service answered with the status ${status}.`
    : isRedirect(status)
      ? "The base URL redirects to another address, which the client does not follow. Check the base URL."
      : `The answer with the status ${status} does not come from this service. Check the base URL.`

/** `requestId` is undefined when the connection failed before the answer's headers arrived. */
const connectionFailed = (cause: unknown, requestId?: string) =>
  new ClientError.ConnectionFailed({
    message: `No connection to the service: ${innermost(cause)}.`,
    requestId,
    cause,
  })

// Returns the message of the innermost cause, because `fetch` itself reports only "fetch failed".
const innermost = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return innermost(error.cause)
  return error.message || ("code" in error ? String(error.code) : error.name)
}
