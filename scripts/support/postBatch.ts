import * as Schema from "effect/Schema"
import { BatchResponse } from "../../src/contract/Api.ts"
import { batchPath } from "../../src/contract/Wire.ts"

/** Sends a batch over HTTP, with an idempotency key if there is one. */
export const postBatch = (
  url: string,
  apiKey: string,
  urls: ReadonlyArray<string>,
  key?: string,
): Promise<Response> =>
  fetch(url + batchPath, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": apiKey,
      ...(key !== undefined && { "idempotency-key": `"${key}"` }),
    },
    body: JSON.stringify({ urls }),
  })

/** Decodes the body of an answer with the status 200. */
export const decodeBatch = Schema.decodeUnknownSync(Schema.parseJson(BatchResponse))
