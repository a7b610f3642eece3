import { InvalidRequest } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"
import { maxBodyParts, maxUrls } from "../contract/Limits.ts"

/**
 * Counts the fields and items of a JSON text that arrives in pieces, because each of them takes
 * `JSON.parse` much longer than the text of a string does. The first one of an object or a list
 * follows its bracket, and each further one a comma.
 */
export class JsonParts {
  private count = 0
  private isText = false
  private isEscaped = false

  /** Returns the refusal of the text once it has more than `maxBodyParts` fields and items. */
  add(bytes: Buffer): InvalidRequest | undefined {
    for (let i = 0; i < bytes.length && this.count <= maxBodyParts; i++) {
      const byte = bytes[i]
      if (this.isEscaped) this.isEscaped = false
      else if (byte === code.backslash) this.isEscaped = true
      else if (byte === code.quote) this.isText = !this.isText
      else if (
        !this.isText &&
        (byte === code.comma || byte === code.openList || byte === code.openObject)
      )
        this.count++
    }
    return this.count > maxBodyParts ? manyParts : undefined
  }
}

const code = { quote: 0x22, comma: 0x2c, openList: 0x5b, backslash: 0x5c, openObject: 0x7b }

const manyParts = InvalidRequest.because([
  Issues.invalidJson(
    `The body has more than ${maxBodyParts} fields and items; send at most ${maxUrls} URLs`,
  ),
])
