/**
 * A request whose body, where it came in one piece, is at hand without a stream: to push it into one,
 * to take it out again and to end it costs five turns of Node's ticks for each request. Whoever reads
 * it as a stream has it as one.
 */
import { IncomingMessage } from "node:http"

export class Request extends IncomingMessage {
  private piece: unknown
  private isOver = false
  private isStream = false

  /** All of the body; undefined while it is not there, or where it came in several pieces. */
  get body(): Buffer | undefined {
    const { piece } = this
    if (this.isStream || !(piece instanceof Uint8Array)) return undefined
    // That it is over is told a turn after its last piece.
    const isWhole = this.isOver || piece.length === Number(this.headers["content-length"])
    if (!isWhole) return undefined
    // Deno's are no buffers.
    return Buffer.isBuffer(piece)
      ? piece
      : Buffer.from(piece.buffer, piece.byteOffset, piece.length)
  }

  /** Whether a body comes behind the headers. */
  get hasBody(): boolean {
    const { "content-length": length, "transfer-encoding": encoding } = this.headers
    return encoding !== undefined || (length !== undefined && Number(length) > 0)
  }

  /** Whether nothing more of it is to come. */
  get isWhole(): boolean {
    return this.complete || this.body !== undefined || !this.hasBody
  }

  /** Node's parser gives each piece of the body, and null behind the last one. */
  override push(piece: unknown, encoding?: BufferEncoding): boolean {
    if (!this.isStream) {
      if (piece === null) {
        this.isOver = true
        return false
      }
      if (this.piece === undefined) {
        this.piece = piece
        return true
      }
      this.becomeStream()
    }
    return super.push(piece, encoding)
  }

  override _read(size: number): void {
    if (!this.isStream) this.becomeStream()
    super._read(size)
  }

  /** Node calls it once the response is out, so that what is unread does not stand in the way. */
  _dump(): void {
    if (this.isStream || !this.isOver) this.resume()
  }

  private becomeStream() {
    this.isStream = true
    if (this.piece !== undefined) super.push(this.piece)
    if (this.isOver) super.push(null)
  }
}
