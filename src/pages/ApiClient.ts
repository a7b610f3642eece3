/** The API client of the console. It never throws: each kind of failure is a value of `Answer`. */
import * as v from "valibot"
import type { BatchResponse, CreditsResponse } from "../contract/Api.ts"

export const Figure = v.pipe(v.number(), v.minValue(0), v.maxValue(100))

export const Reason = v.picklist(["PROVIDER_ERROR", "SERVER_ERROR", "INVALID_URL"])

const Batch = v.object({
  success: v.literal(true),
  data: v.object({
    successUrls: v.array(
      v.object({
        url: v.string(),
        domainAuthority: Figure,
        pageAuthority: Figure,
        spamScore: v.exactOptional(Figure),
      }),
    ),
    failedUrls: v.array(
      v.object({
        url: v.string(),
        reason: Reason,
      }),
    ),
  }),
  quota: v.object({ creditsUsed: v.number() }),
}) satisfies v.GenericSchema<unknown, Mutable<typeof BatchResponse.Encoded>>

const Credits = v.object({
  success: v.literal(true),
  data: v.object({ availableCredits: v.number() }),
}) satisfies v.GenericSchema<unknown, Mutable<typeof CreditsResponse.Encoded>>

const Refusal = v.object({ success: v.literal(false), message: v.string() })

type Mutable<A> = A extends object ? { -readonly [K in keyof A]: Mutable<A[K]> } : A

export type Batch = v.InferOutput<typeof Batch>

export type Answer<A> =
  | { readonly _tag: "Answered"; readonly value: A }
  /**
   * The service answered with an error. `retryAfterMs` comes from the header `Retry-After`; it is
   * undefined without this header.
   */
  | {
      readonly _tag: "Refused"
      readonly status: number
      readonly message: string
      readonly retryAfterMs: number | undefined
    }
  /** No answer arrived, or the answer did not come from the service. */
  | { readonly _tag: "Lost" }

export interface ApiClient {
  readonly credits: (key: string) => Promise<Answer<number>>
  /** Checks a batch. `name` is the idempotency key of the batch, so a retry is not charged again. */
  readonly check: (request: {
    readonly key: string
    readonly name: string
    readonly urls: ReadonlyArray<string>
    readonly signal: AbortSignal
  }) => Promise<Answer<Batch>>
}

/** True when the text can be an API key: 1 to 200 visible ASCII characters, without spaces. */
export const isKeyLike = (text: string) => /^[\x21-\x7e]{1,200}$/.test(text)

const creditsTimeoutMs = 20_000
const checkTimeoutMs = 120_000

/** Makes a client of the service at the base URL `base`. */
export const make = (base: string): ApiClient => ({
  credits: async (key) => {
    const answer = await send(Credits, `${base}/v1/quota/available-credits`, {
      headers: { "x-api-key": key },
      signal: AbortSignal.timeout(creditsTimeoutMs),
    })
    return answer._tag === "Answered"
      ? { _tag: "Answered", value: answer.value.data.availableCredits }
      : answer
  },
  check: ({ key, name, signal, urls }) =>
    send(Batch, `${base}/v1/metrics/da-pa/batch`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "idempotency-key": `"${name}"`,
        "x-api-key": key,
      },
      body: JSON.stringify({ urls }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(checkTimeoutMs)]),
    }),
})

const send = async <A>(
  schema: v.GenericSchema<unknown, A>,
  url: string,
  request: RequestInit,
): Promise<Answer<A>> => {
  try {
    const response = await fetch(url, {
      ...request,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    })
    const body: unknown = await response.json()
    const answered = v.safeParse(schema, body)
    if (response.status === 200 && answered.success) {
      return { _tag: "Answered", value: answered.output }
    }
    const refused = v.safeParse(Refusal, body)
    if (response.status < 400 || !refused.success) return { _tag: "Lost" }
    return {
      _tag: "Refused",
      status: response.status,
      message: refused.output.message,
      retryAfterMs: Number(response.headers.get("retry-after")) * 1000 || undefined,
    }
  } catch {
    return { _tag: "Lost" }
  }
}
