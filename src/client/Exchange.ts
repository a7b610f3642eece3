/** Sends requests with retries, and decodes the answers. */
import * as Bodies from "./Bodies.ts"
import * as ClientError from "./ClientError.ts"
import { type Answer, connectionFailed, failureOf } from "./failureOf.ts"
import type { Options } from "./Client.ts"
import * as Request from "./Request.ts"
import * as Signal from "./Signal.ts"

export interface Call {
  readonly path: string
  /** The JSON body. The method is POST when there is a body, otherwise GET. */
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal | undefined
}

/** Makes a function that sends a request with retries. It throws a ClientError, or the signal's reason. */
export const exchange = (options: Options) => {
  const { onRetry, patienceMs = 90_000, timeoutMs = 60_000 } = options
  const send = sender(options)

  /** The timeout includes the time to read the body. */
  const attempt = async (call: Call) => {
    const ended = Signal.following(call.signal)
    const timeout = new ClientError.TimedOut({ message: "The service did not answer in time." })
    const timer = setTimeout(() => ended.abort(timeout), Math.min(timeoutMs, Signal.longestTimerMs))
    try {
      return await Signal.orAborted(send({ ...call, signal: ended.signal }), ended.signal)
    } catch (error) {
      if (ended.signal.aborted) throw ended.signal.reason
      throw error instanceof ClientError.ClientError ? error : connectionFailed(error)
    } finally {
      clearTimeout(timer)
      ended.forget()
    }
  }

  return async <A>(call: Call, schema: Bodies.Schema<A>) => {
    call.signal?.throwIfAborted()
    for (let failures = none; ;) {
      try {
        const answer = await attempt(call)
        const body = answer.status === 200 ? Bodies.parse(schema, answer.body) : undefined
        if (body === undefined) throw failureOf(answer)
        return { answer, body }
      } catch (error) {
        if (!ClientError.isClientError(error)) throw error
        const state = { now: performance.now(), random: Math.random(), patienceMs }
        const retry = retryAfter(failures, error, state)
        if (retry === undefined) throw error
        await onRetry?.(error, retry.waitMs)
        await Signal.sleep(retry.waitMs, call.signal)
        failures = retry.failures
      }
    }
  }
}

/** The failures of one call so far. */
interface Failures {
  readonly count: number
  /** The start of the time limit for retries, in milliseconds of `performance.now`. */
  readonly since: number
}

/** The state before the first attempt. */
const none: Failures = { count: 0, since: 0 }

/**
 * Returns the wait before the next attempt, in milliseconds, and the updated `failures`. Returns
 * undefined when the request must not be sent again. `random` is from 0 to 1. The time limit
 * `patienceMs` starts at the first failure, because a timeout may be longer. A 429 restarts it,
 * because a 429 shows that the service works.
 */
const retryAfter = (
  failures: Failures,
  error: ClientError.AnyClientError,
  {
    now,
    patienceMs,
    random,
  }: { readonly now: number; readonly patienceMs: number; readonly random: number },
): { readonly waitMs: number; readonly failures: Failures } | undefined => {
  const isLimited = error instanceof ClientError.RateLimited
  // After a 409 (request in progress), the back-off does not grow. A longer `Retry-After` still
  // wins.
  const steps = error instanceof ClientError.RequestInProgress ? 0 : failures.count
  const askedMs = "retryAfterMs" in error ? error.retryAfterMs : 0
  const waitMs = Math.max(askedMs, backoffMs(steps, random))
  const since = isLimited || failures.count === 0 ? now : failures.since
  return !error.isTransient || now + waitMs > since + patienceMs
    ? undefined
    : {
        waitMs,
        failures: { count: failures.count + 1, since: isLimited ? now + waitMs : since },
      }
}

/** Exponential back-off with jitter, so that clients do not all retry at the same moment. */
const backoffMs = (failures: number, random: number) =>
  Math.ceil((0.5 + random / 2) * Math.min(longestMs, firstMs * 2 ** failures))

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
    const text = await textOf(response).catch((cause: unknown) => {
      if (cause instanceof ClientError.ClientError) throw cause
      throw connectionFailed(cause, requestIdOf(response))
    })
    return { status: response.status, headers: response.headers, body: bodyOf(text) }
  }
}

const requestIdOf = ({ headers }: Response) => headers.get("x-request-id") ?? undefined

/** The largest answer of the service has less than 1 MB. */
const maxAnswerBytes = 4 * 1024 * 1024

/** Reads a body. Throws UnexpectedAnswer when it has more than `maxAnswerBytes`. */
const textOf = async (response: Response): Promise<string> => {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let [text, length] = ["", 0]
  for (;;) {
    const { value } = (await reader?.read()) ?? {}
    if (value === undefined) return text + decoder.decode()
    length += value.length
    if (length > maxAnswerBytes) {
      // Closes the connection. Nobody waits for that.
      reader?.cancel().catch(() => undefined)
      throw new ClientError.UnexpectedAnswer({
        message: "The answer has more than 4 MB, so it is not this service's. Check the base URL.",
        status: response.status,
        requestId: requestIdOf(response),
      })
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Parses a body as JSON. Returns `text` unchanged when it is not JSON. */
export const bodyOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
