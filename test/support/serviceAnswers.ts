/** Answers that every client must understand. */
export interface Scripted {
  readonly status: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer to a batch of the URL "a". */
export const good = {
  status: 200,
  body: JSON.stringify({
    success: true,
    data: { successUrls: [], failedUrls: [{ url: "a", reason: "INVALID_URL" }] },
    quota: { creditsUsed: 0 },
  }),
} satisfies Scripted

/** An error answer of the service. */
export const refused = (status: number, headers = {}, message = "so it is") =>
  ({ status, headers, body: JSON.stringify({ success: false, message }) }) satisfies Scripted

/** Answers after which a client does not retry, each with the error that it reports. */
export const final: ReadonlyArray<readonly [Scripted, string]> = [
  [refused(401), "Unauthorized"],
  [refused(402), "InsufficientCredits"],
  [refused(403), "Forbidden"],
  [refused(413), "UnexpectedAnswer"],
  [refused(422), "IdempotencyKeyReused"],
  [{ status: 302, headers: { location: "http://elsewhere" } }, "UnexpectedAnswer"],
  [{ status: 404, body: "<html>" }, "UnexpectedAnswer"],
  [{ status: 401, body: "<html>" }, "UnexpectedAnswer"],
  [{ status: 403, body: "<html>" }, "UnexpectedAnswer"],
  [{ status: 200, body: "<html>" }, "UnexpectedAnswer"],
  [{ status: 200, body: good.body.replace('"a"', '"b"') }, "UnexpectedAnswer"],
  [{ status: 200, body: good.body.replace(":0", ':""') }, "UnexpectedAnswer"],
]
