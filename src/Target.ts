/**
 * What a client submits, made into what a provider can be asked about: a string becomes a
 * `Target`, or an `InvalidUrl` that says why it cannot be a public web address. Pure.
 */
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import { parse as parseHost } from "tldts"
import { Lru } from "./Lru.ts"

/** The input cannot be a public web address; `problem` says why in a few words. */
export class InvalidUrl extends Data.TaggedError("InvalidUrl")<{
  readonly input: string
  readonly problem: string
}> {
  override get message() {
    return `${JSON.stringify(this.input)}: ${this.problem}`
  }
}

/**
 * A public web page. Two submissions that differ only in the scheme, letter case of the host, a
 * trailing dot, a default port or a fragment are one target; `www.` and the bare host are two.
 */
export class Target {
  /** Host name in its ASCII form, lower case, without a trailing dot: `www.example.co.uk`. */
  readonly host: string
  /** The domain somebody registered, by the Public Suffix List: `example.co.uk`. */
  readonly domain: string
  /** Host, path and query, the identity of the target: `www.example.co.uk/a?b`. */
  readonly page: string

  private constructor(host: string, domain: string, page: string) {
    this.host = host
    this.domain = domain
    this.page = page
  }

  /** The address to send to a provider that wants an absolute one. */
  get url(): string {
    return `https://${this.page}`
  }

  /** Never throws, whatever the string. */
  static parse(input: string): Either.Either<Target, InvalidUrl> {
    const known = parsed.get(input)
    if (known !== undefined) return known
    const target = Target.read(input)
    if (input.length <= maxKeptLength) parsed.set(input, target)
    return target
  }

  private static read(input: string): Either.Either<Target, InvalidUrl> {
    const invalid = (problem: string) => Either.left(new InvalidUrl({ input, problem }))

    const text = input.trim()
    if (hasControlCharacter(text)) return invalid("it contains a control character")
    const absolute = withScheme(text)
    if (absolute === undefined) return invalid("only http and https addresses can be checked")
    if (!URL.canParse(absolute)) return invalid("it is not a domain or a URL")

    const url = new URL(absolute)
    if (hasUserinfo(absolute)) return invalid("it carries a user name")
    if (url.port !== "") return invalid("only the default ports can be checked")

    const host = url.hostname.endsWith(".") ? url.hostname.slice(0, -1) : url.hostname
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

    return Either.right(new Target(host, domain, host + url.pathname + url.search))
  }
}

/**
 * What was submitted lately and what it is: popular addresses come again and again, and to read one
 * takes longer than everything else that is done for it.
 */
const parsed = new Lru<string, Either.Either<Target, InvalidUrl>>(10_000)

/** With as many of these, some 5 MB. */
const maxKeptLength = 200

const maxHostLength = 253

/** Private suffixes such as `github.io` are sites like any other, so only ICANN's count. */
const hostOptions = {
  allowPrivateDomains: false,
  detectIp: false,
  extractHostname: false,
  validateHostname: false,
}

/** WHATWG URL drops inner tabs and newlines in silence, which would check another address. */
const hasControlCharacter = (text: string) => {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return true
  }
  return false
}

/**
 * The text as an absolute http(s) address; undefined when it names another scheme. In
 * `example.com:8080` WHATWG URL would see the scheme `example.com`, a person sees a port; in
 * `com.example.app://callback` both see a scheme.
 */
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

/** An empty user name counts: WHATWG URL drops it in silence. */
const hasUserinfo = (absolute: string) => /^https?:[/\\]*[^/\\?#]*@/i.test(absolute)

/** WHATWG URL has already turned every spelling of an IPv4 address into dotted numbers. */
const isAddress = (host: string) => host.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(host)

/** Underscores are no host name by RFC 1123, but exist in the wild below a registered domain. */
const isLabel = (label: string) =>
  label.length <= 63 && /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/.test(label)

/**
 * Of the special-use names, `.test`, `.invalid`, `.local`, `.internal`, `.localhost` and `.example`
 * are no public suffix at all; these two are, though no web page lives there (RFC 7686, RFC 3172).
 */
const isSpecialUse = (host: string) => host.endsWith(".onion") || host.endsWith(".arpa")
