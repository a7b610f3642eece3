/** Removes secrets from logs, traces and the output of commands. */
import { unescape } from "node:querystring"

/** Hides the password, the query values and a lone user name, which may be a token, of a URL. */
export const hideIn = (text: string): string =>
  /^[a-z][a-z\d+.-]*:\/\//i.test(text)
    ? // The password may contain a raw slash or question mark, so it extends to the last @.
      text.replace(/(?<=:\/\/).*@/s, hiddenUser).replace(/\?[^#]*/, hiddenQuery)
    : text

const hiddenUser = (userinfo: string) => {
  const [user = "", password = ""] = userinfo.slice(0, -1).split(/:(.*)/s)
  return password === "" ? "…@" : `${user}:…@`
}

const hiddenQuery = (query: string) => query.replaceAll(/[^?&=]+(?=&|$)|(?<==)[^&]+/g, "…")

/** The possible secrets in a URL, as written, percent-decoded, and in the form of HTTP Basic. */
export const partsOf = (address: string): ReadonlyArray<string> => {
  const url = URL.parse(address)
  if (url === null) return []
  const { password, search, username } = url
  const values = search.split(/[?&]/).map((field) => field.replace(/^[^=]*=(?=.)/s, ""))
  const parts = [username, password, ...values].flatMap((part) => [part, unescape(part)])
  if (username + password !== "") parts.push(basicOf(unescape(`${username}:${password}`)))
  // Parts below the minimum length are left out, because they occur by chance in too many texts.
  return [...new Set(parts)].filter((part) => part.length >= shortest)
}

/** Minimum length of a secret that is searched for, in characters. */
const shortest = 4

export const basicOf = (credentials: string): string => Buffer.from(credentials).toString("base64")

/** Returns a function that replaces the secrets in a text, plain or percent-encoded. */
export const remover = (secrets: ReadonlyArray<string>): ((text: string) => string) => {
  const spellings = secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    // Longest first, because a secret may contain a shorter one.
    .toSorted((a, b) => b.length - a.length)
  return (text) => spellings.reduce((left, each) => left.replaceAll(each, "<redacted>"), text)
}
