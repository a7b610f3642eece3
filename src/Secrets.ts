/** Keeps secrets out of logs, traces and what the verbs print. */
import { identity } from "effect/Function"

/**
 * An address without its password and the values of its query. A user name without a password is
 * hidden too, for some services take a token there. Any other text comes back as it is.
 */
export const hideIn = (text: string): string =>
  /^[a-z][a-z\d+.-]*:\/\//i.test(text)
    ? text.replace(/(?<=:\/\/)[^/?#]*@/, hiddenUser).replace(/\?[^#]*/, hiddenQuery)
    : text

const hiddenUser = (userinfo: string) => {
  const [user = "", password = ""] = userinfo.slice(0, -1).split(/:(.*)/s)
  return password === "" ? "…@" : `${user}:…@`
}

const hiddenQuery = (query: string) => query.replaceAll(/[^?&=]+(?=&|$)|(?<==)[^&]+/g, "…")

/** What may be a secret in an address: user name, password, and the values of its query. */
export const partsOf = (address: string): ReadonlyArray<string> => {
  const url = URL.parse(address)
  if (url === null) return []
  const values = Array.from(url.searchParams, ([name, value]) => (value === "" ? name : value))
  // Shorter words stand in too many texts by chance.
  return [url.username, url.password, ...values].filter((part) => part.length >= shortest)
}

const shortest = 4

/**
 * Replaces the secrets in texts that somebody else wrote, however they are spelt: plain,
 * percent-encoded, JSON-escaped, or in base64, by themselves or as a part of something longer.
 */
export const remover = (secrets: ReadonlyArray<string>): ((text: string) => string) => {
  const spellings = secrets.filter((secret) => secret !== "").flatMap(spellingsOf)
  if (spellings.length === 0) return identity
  let pattern: RegExp | undefined
  return (text) => {
    // The pattern is large, so it is made when it is needed first.
    pattern ??= new RegExp(spellings.toSorted(byLength).map(patternOf).join("|"), "g")
    return text.replaceAll(pattern, "<redacted>")
  }
}

/** The longest first, for it may contain another one. */
const byLength = (a: string, b: string) => b.length - a.length

const spellingsOf = (secret: string): ReadonlyArray<string> => {
  const inBase64 = [0, 1, 2].map((offset) => base64Of(secret, offset))
  const inBase64Url = inBase64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"))
  return [secret, ...[...inBase64, ...inBase64Url].filter((text) => text.length >= shortest)]
}

/**
 * What stands in base64 for a secret that begins `offset` bytes after a group of three. Characters
 * that also depend on the bytes before and after it are left out.
 */
const base64Of = (secret: string, offset: number): string => {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const from = Math.ceil((offset * 8) / 6)
  return bytes.toString("base64").slice(from, Math.floor((bytes.length * 8) / 6))
}

/** Matches a text with any of its characters percent-encoded or JSON-escaped, or none. */
const patternOf = (text: string): string => Array.from(text, characterPattern).join("")

const characterPattern = (character: string): string => {
  const escaped = character.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
  const percents = Array.from(Buffer.from(character), (byte) => `%(?:25){0,3}${hex(byte, 2)}`)
  const units = character.split("").map((unit) => `\\\\{1,4}u${hex(unit.charCodeAt(0), 4)}`)
  const plain = /["\\/]/.test(character) ? `\\\\{0,4}${escaped}` : escaped
  const space = character === " " ? "|\\+" : ""
  return `(?:${plain}|${percents.join("")}|${units.join("")}${space})`
}

/** Digits in either letter case. */
const hex = (code: number, length: number) =>
  code
    .toString(16)
    .padStart(length, "0")
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
