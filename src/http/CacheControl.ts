/** Reads the request's header `Cache-Control`. Browsers send it too, so bad values are ignored. */

/** Returns the greatest age that the client accepts, in milliseconds; undefined when it names none. */
export const maxAgeMs = (header: string | undefined): number | undefined => {
  const seconds = header === undefined ? undefined : maxAge.exec(header)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const maxAge = /(?:^|,)\s*max-age="?(\d{1,10})"?\s*(?:,|$)/i
