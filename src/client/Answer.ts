/** An HTTP answer whose body is not validated yet. */
export interface Answer {
  readonly status: number
  /** Returns the value of a header. `name` is in lower case. */
  readonly header: (name: string) => string | undefined
  /** The body as a JSON value; as text when the body is not JSON. */
  readonly body: unknown
}

/** Parses a body as JSON. Returns `text` unchanged when it is not JSON. */
export const bodyOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
