import { IncomingMessage } from "node:http"

/** A request of Node. */
export class Request extends IncomingMessage {
  private arrived: Buffer | undefined

  /** All of the body; undefined while some of it is missing, and where its length was not given. */
  get body(): Buffer | undefined {
    const length = Number(this.headers["content-length"])
    if (this.arrived === undefined && this.readableLength === length) {
      const bytes: unknown = this.read()
      this.arrived = Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0)
    }
    return this.arrived
  }

  /** Whether a body comes behind the headers. */
  get hasBody(): boolean {
    const { "content-length": length, "transfer-encoding": encoding } = this.headers
    return encoding !== undefined || (length !== undefined && Number(length) > 0)
  }

  /** Whether nothing more of it is to come. */
  get isWhole(): boolean {
    return this.complete || !this.hasBody
  }
}
