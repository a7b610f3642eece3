/** An HTTP answer whose body is not validated yet. */
export interface Answer {
  readonly status: number
  /** The value of a header, by its name in lower case. */
  readonly header: (name: string) => string | undefined
  /** A JSON value, or else the text. */
  readonly body: unknown
}

/** Parses a body. Returns the text when it is not JSON. */
export const bodyOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
