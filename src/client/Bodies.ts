/** Valibot schemas for the bodies of the answers. Valibot is small enough for a web page. */
import * as v from "valibot"
import type * as Wire from "../contract/Wire.ts"

const score = v.pipe(v.number(), v.minValue(0), v.maxValue(100))
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

type Schema<A> = v.GenericSchema<unknown, A>

export const BatchAnswer: Schema<Wire.BatchAnswer> = v.object({
  success: v.literal(true),
  data: v.object({
    successUrls: v.array(
      v.object({
        url: v.string(),
        domainAuthority: score,
        pageAuthority: score,
        spamScore: v.exactOptional(score),
      }),
    ),
    failedUrls: v.array(
      v.object({
        url: v.string(),
        reason: v.picklist(["PROVIDER_ERROR", "SERVER_ERROR", "INVALID_URL"]),
      }),
    ),
  }),
  quota: v.object({ creditsUsed: count }),
})

export const CreditsAnswer: Schema<Wire.CreditsAnswer> = v.object({
  success: v.literal(true),
  data: v.object({ availableCredits: count }),
})

const refusal = { success: v.literal(false), message: v.string() }

export const Refusal: Schema<Wire.Refusal> = v.object(refusal)

const violation = { message: v.string(), path: v.array(v.string()) }

const size = {
  ...violation,
  type: v.picklist(["array", "string"]),
  inclusive: v.literal(true),
  exact: v.literal(false),
}

export const InvalidRequest: Schema<Wire.InvalidRequest> = v.object({
  ...refusal,
  error: v.object({
    name: v.literal("ValidationError"),
    issues: v.array(
      v.variant("code", [
        v.object({ code: v.literal("too_small"), minimum: v.number(), ...size }),
        v.object({ code: v.literal("too_big"), maximum: v.number(), ...size }),
        v.object({
          code: v.literal("invalid_type"),
          expected: v.string(),
          received: v.string(),
          ...violation,
        }),
        v.object({
          code: v.picklist([
            "invalid_json",
            "invalid_content_type",
            "invalid_idempotency_key",
            "invalid_header",
          ]),
          ...violation,
        }),
      ]),
    ),
  }),
})

/** Returns the body as the schema's type; undefined when the schema rejects it. */
export const parse = <A>(schema: Schema<A>, body: unknown): A | undefined => {
  const parsed = v.safeParse(schema, body)
  return parsed.success ? parsed.output : undefined
}
