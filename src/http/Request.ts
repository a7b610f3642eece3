import { IncomingMessage } from "node:http"
import { inTurn } from "./inTurn.ts"

/** Node's `IncomingMessage`, which also reports how much of its body has arrived. */
export class Request extends IncomingMessage {
  private arrived: Buffer | undefined
  private waitsForTurn = false
  private readonly bytesBefore = this.socket.bytesRead

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

  /** True when the body has more than one read's bytes. */
  private get isLarge(): boolean {
    const arrived = this.socket.bytesRead - this.bytesBefore
    return Number(this.headers["content-length"]) > maxRead || arrived > maxRead
  }

  get isWhole(): boolean {
    return this.complete || !this.hasBody
  }

  /** Waits for a turn, as `waitForTurn` says, when the body is large. */
  readInTurn(): void {
    if (this.isLarge) this.waitForTurn()
  }

  /**
   * Reads no more from the connection until it has a turn of the event loop, so that other requests
   * do not wait for many bodies. `pause` would not do: Node keeps up to 64 KiB of a paused body, and
   * a chunk of one byte takes hundreds of bytes of memory.
   */
  waitForTurn(): void {
    if (this.waitsForTurn) return
    this.waitsForTurn = true
    this.socket.pause()
    inTurn(() => {
      this.waitsForTurn = false
      this.socket.resume()
    })
  }

  /** Node's own `_read` resumes the connection. */
  override _read(size: number): void {
    if (!this.waitsForTurn) super._read(size)
  }
}

/** Node reads at most so many bytes of a connection at once. */
const maxRead = 64 * 1024
