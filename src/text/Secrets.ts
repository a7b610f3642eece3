/** Removes secrets from logs, traces and the output of commands. */
import { unescape } from "node:querystring"
import { identity } from "effect/Function"

/**
 * Hides the password and the query values of a URL. Also hides a user name without a password,
 * because some services expect a token there. Does not change a text that is not a URL.
 */
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

/** The possible secrets in a URL, percent-decoded: user name, password and query values. */
export const partsOf = (address: string): ReadonlyArray<string> => {
  const url = URL.parse(address)
  if (url === null) return []
  const values = Array.from(url.searchParams, ([name, value]) => (value === "" ? name : value))
  // Parts below the minimum length are left out, because they occur by chance in too many texts.
  const userinfo = [url.username, url.password].map((part) => unescape(part))
  return [...userinfo, ...values].filter((part) => part.length >= shortest)
}

/** Minimum length of a secret that is searched for, in characters. */
const shortest = 4

/**
 * Returns a function that replaces the secrets in a text. It finds secrets that are plain,
 * percent-encoded, JSON-escaped or in base64, also within a longer encoded text.
 */
export const remover = (secrets: ReadonlyArray<string>): ((text: string) => string) => {
  const spellings = secrets.filter((secret) => secret !== "").flatMap(spellingsOf)
  if (spellings.length === 0) return identity
  let pattern: RegExp | undefined
  return (text) => {
    // Compiling this large pattern takes time and may never be needed, so do it at the first use.
    pattern ??= new RegExp(spellings.toSorted(byLength).map(patternOf).join("|"), "g")
    return text.replaceAll(pattern, "<redacted>")
  }
}

/** Longest first, because a secret may contain a shorter one. */
const byLength = (a: string, b: string) => b.length - a.length

const spellingsOf = (secret: string): ReadonlyArray<string> => {
  const inBase64 = [0, 1, 2].map((offset) => base64Of(secret, offset))
  const inBase64Url = inBase64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"))
  return [secret, ...[...inBase64, ...inBase64Url].filter((text) => text.length >= shortest)]
}

/**
 * Returns the characters by which a secret appears in the base64 of a longer text. Base64 encodes
 * groups of 3 bytes, and `offset` (0, 1 or 2) is the position of the secret's first byte in its
 * group. Leaves out a first or last character that also depends on the bytes beside the secret.
 */
const base64Of = (secret: string, offset: number): string => {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const from = Math.ceil((offset * 8) / 6)
  return bytes.toString("base64").slice(from, Math.floor((bytes.length * 8) / 6))
}

/** A pattern that matches the text, with each character plain, percent-encoded or JSON-escaped. */
const patternOf = (text: string): string => Array.from(text, characterPattern).join("")

const characterPattern = (character: string): string => {
  const escaped = character.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
  const percents = Array.from(Buffer.from(character), (byte) => `%(?:25){0,3}${hex(byte, 2)}`)
  const units = character.split("").map((unit) => `\\\\{1,4}u${hex(unit.charCodeAt(0), 4)}`)
  const plain = /["\\/]/.test(character) ? `\\\\{0,4}${escaped}` : escaped
  const space = character === " " ? "|\\+" : ""
  return `(?:${plain}|${percents.join("")}|${units.join("")}${space})`
}

/** A pattern for the number `code` in hexadecimal with `length` digits, in upper or lower case. */
const hex = (code: number, length: number) =>
  code
    .toString(16)
    .padStart(length, "0")
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
