import { IncomingMessage } from "node:http"

/** Node's `IncomingMessage`, which also reports how much of its body has arrived. */
export class Request extends IncomingMessage {
  private arrived: Buffer | undefined

  /** The whole body. Undefined until all of it has arrived, and when `content-length` is absent. */
  get body(): Buffer | undefined {
    const length = Number(this.headers["content-length"])
    if (this.arrived === undefined && this.readableLength === length) {
      // Without a size, Deno gives only the first of two chunks.
      const bytes: unknown = this.read(length)
      this.arrived = Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0)
    }
    return this.arrived
  }

  get hasBody(): boolean {
    const { "content-length": length, "transfer-encoding": encoding } = this.headers
    return encoding !== undefined || (length !== undefined && Number(length) > 0)
  }

  get isWhole(): boolean {
    return this.complete || !this.hasBody
  }
}
