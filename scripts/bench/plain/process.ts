/** Plain twin of Node's `nextTick` in src/http/Server.ts: reads the body, which has no limit here. */
import type { ServerResponse } from "node:http"
import type { Request } from "./Request.ts"

export const nextTick = (
  answer: (request: Request, response: ServerResponse) => void,
  request: Request,
  response: ServerResponse,
): void => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    request.body = Buffer.concat(chunks)
    answer(request, response)
  })
}
