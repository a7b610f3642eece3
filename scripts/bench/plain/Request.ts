/** Plain twin of src/http/Request.ts: the body is read as a stream before the request is answered. */
import { IncomingMessage } from "node:http"

export class Request extends IncomingMessage {
  body: Buffer | undefined

  get hasBody(): boolean {
    return this.method === "POST"
  }

  get isWhole(): boolean {
    return this.complete || !this.hasBody
  }
}
