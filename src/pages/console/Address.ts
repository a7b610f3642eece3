/** Splits an address as the user wrote it: for its display and its link. */

interface Parts {
  /** The scheme with its slashes, or an empty string. */
  readonly scheme: string
  readonly host: string
  /** The port, the path and all that follows. */
  readonly rest: string
}

export const partsOf = (url: string): Parts => {
  const [, scheme = "", host = url, rest = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#:]+)(.*)$/is.exec(url) ?? []
  return { scheme, host, rest }
}

/** Returns the address of a web page, or undefined when a browser cannot open it as one. */
export const linkOf = (url: string): string | undefined => {
  const { host, scheme } = partsOf(url)
  const link = scheme === "" ? `http://${url}` : url
  return /^https?:\/\//i.test(link) && host.includes(".") && URL.canParse(link) ? link : undefined
}
