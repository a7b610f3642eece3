/**
 * Parses a submitted string to a `Target`, which can be sent to a provider, or to an `InvalidUrl`
 * with the problem when the string is not a public web address. Pure.
 */
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import { parse as parseHost } from "tldts"
import { trimmed } from "./printable.ts"

/** The input is not a public web address. `problem` says why, in a few words. */
export class InvalidUrl extends Data.TaggedError("InvalidUrl")<{
  readonly input: string
  readonly problem: string
}> {
  override get message() {
    return `${JSON.stringify(this.input)}: ${this.problem}`
  }
}

/**
 * A public web page in canonical form. URLs that differ only in scheme, letter case of the host,
 * trailing dot, default port, fragment or equivalent escapes have the same target. `www.` makes a
 * different target.
 */
export class Target {
  /** The host name in ASCII and lower case, without a trailing dot: `www.example.co.uk`. */
  readonly host: string
  /** The registered domain according to the Public Suffix List: `example.co.uk`. */
  readonly domain: string
  /** Host, path and query, which identify the target: `www.example.co.uk/a?b`. */
  readonly page: string

  private constructor(host: string, domain: string, page: string) {
    this.host = host
    this.domain = domain
    this.page = page
  }

  get url(): string {
    return `https://${this.page}`
  }

  static parse(input: string): Either.Either<Target, InvalidUrl> {
    const known = parsed.get(input)
    if (known !== undefined) return known
    const target = Target.read(input)
    if (input.length > maxKeptLength) return target
    if (parsed.size >= maxKept) parsed.clear()
    parsed.set(input, target)
    return target
  }

  private static read(input: string): Either.Either<Target, InvalidUrl> {
    const invalid = (problem: string) => Either.left(new InvalidUrl({ input, problem }))

    const text = trimmed(input)
    if (hasControlCharacter(text)) return invalid("it contains a control character")
    const absolute = withScheme(text)
    if (absolute === undefined) return invalid("only http and https addresses can be checked")
    const url = URL.parse(absolute)
    if (url === null) return invalid("it is not a domain or a URL")
    if (hasUserinfo(absolute)) return invalid("it contains a user name")
    if (url.port !== "") return invalid("only the default ports can be checked")

    const { hostname } = url
    const host = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname
    if (isAddress(host)) return invalid("it is an IP address")
    if (host.length > maxHostLength || !host.split(".").every(isLabel)) {
      return invalid("its host is not a valid domain name")
    }

    const { domain, isIcann, publicSuffix } = parseHost(host, hostOptions)
    if (!isIcann || publicSuffix === null || isSpecialUse(host)) {
      return invalid("its host is not under a public domain ending")
    }
    if (domain === null) return invalid("it is a public suffix, not a domain")
    if (domain.includes("_")) return invalid("its host is not a valid domain name")

    return Either.right(new Target(host, domain, host + canonical(url.pathname + url.search)))
  }
}

// Caches parsed URLs, because popular ones are submitted often, and parsing is the slowest step of
// checking a URL whose figures are cached.
const parsed = new Map<string, Either.Either<Target, InvalidUrl>>()

// The maximum number of URLs in `parsed`, which then takes about 5 MB. A full `parsed` is emptied.
const maxKept = 10_000

/**
 * The maximum length of a URL in `parsed`, in UTF-16 code units. Longer URLs are parsed each time.
 */
const maxKeptLength = 200

const maxHostLength = 253

// Only the ICANN part of the Public Suffix List: `example.github.io` belongs to the domain
// `github.io`.
const hostOptions = {
  allowPrivateDomains: false,
  detectIp: false,
  extractHostname: false,
  validateHostname: false,
}

// WHATWG URL silently removes tabs and newlines, which would change the address.
const hasControlCharacter = (text: string) => {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return true
  }
  return false
}

// Returns an absolute http(s) URL, or undefined for another scheme (`com.example.app://callback`).
// Reads `example.com:8080` as host and port; WHATWG URL would read `example.com` as a scheme.
const withScheme = (text: string): string | undefined => {
  if (/^https?:/i.test(text)) return text
  if (text.startsWith("//")) return `https:${text}`
  const colon = /^([^/?#\\@:[\]]+):(.*)$/s.exec(text)
  if (colon === null) return `https://${text}`
  const [, host = "", rest = ""] = colon
  const port = /^(\d*)(?:[/?#\\]|$)/.exec(rest)?.[1]
  if (port === undefined || rest.startsWith("//")) return undefined
  const isDefault = port === "80" || port === "443"
  return `https://${host}${isDefault ? rest.slice(port.length) : `:${rest}`}`
}

// Spells escapes uniformly (RFC 3986, 6.2.2): `%c3` as `%C3`, `%7e` as `~`. Decodes nothing next to
// a `%` that begins no escape, because it could form a new one with a decoded character.
const canonical = (page: string) => {
  if (!page.includes("%")) return page
  const isValid = !/%(?![\da-f]{2})/i.test(page)
  return page.replaceAll(/%[\da-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return isValid && /[\w.~-]/.test(character) ? character : escape.toUpperCase()
  })
}

/**
 * True when the URL has an `@` before the host, even without a user name. Reads the text, because
 * WHATWG URL silently removes an empty user name.
 */
const hasUserinfo = (absolute: string) => /^https?:[/\\]*[^/\\?#]*@/i.test(absolute)

// WHATWG URL has already converted every form of IPv4 to dotted decimal.
const isAddress = (host: string) => host.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(host)

// Allows underscores: RFC 1123 forbids them, but they occur below registered domains.
const isLabel = (label: string) =>
  label.length <= 63 && /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/.test(label)

// `.onion` and `.arpa` are in the Public Suffix List, but have no public web pages (RFC 7686, RFC
// 3172). `.test`, `.invalid`, `.local`, `.internal`, `.localhost` and `.example` are not in the
// list, so `read` rejects them anyway.
const isSpecialUse = (host: string) => host.endsWith(".onion") || host.endsWith(".arpa")
