import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as ConnectionString from "../../src/database/ConnectionString.ts"

type Parsed = ConnectionString.ConnectionString

const parsed = (text: string, environment: Record<string, string> = {}): Parsed =>
  Either.getOrThrowWith(ConnectionString.parse(text, environment), (error) => error)

const errorOf = (text: string, environment: Record<string, string> = {}): string =>
  Either.match(ConnectionString.parse(text, environment), {
    onLeft: ({ message }) => message,
    onRight: () => assert.fail(`${text} was accepted`),
  })

describe("a connection string", () => {
  it("a connection string gives host, user, password and database, with defaults for missing parts", () => {
    assert.deepStrictEqual(parsed("postgres://u:p@127.0.0.1:1/d"), {
      host: "127.0.0.1",
      port: 1,
      user: "u",
      password: "p",
      database: "d",
      ssl: false,
      application_name: "authority",
      connectionTimeoutMillis: 5000,
      options: undefined,
    })
  })

  it.each<[text: string, part: Partial<Parsed>]>([
    ["postgresql://u@h", { host: "h", port: 5432, user: "u", database: "u" }],
    ["postgres://u@/d", { host: "localhost", port: 5432 }],
    ["postgres://u@/d?host=/run/pg&port=7", { host: "/run/pg", port: 7, database: "d" }],
    ["postgres://u@%2Frun%2Fpg:7/d", { host: "/run/pg", port: 7 }],
    ["postgres://u@[::1]:7/d", { host: "::1", port: 7 }],
    ["postgres://%C3%BC%40x@h/d%20b", { user: "ü@x", database: "d b" }],
    ["postgres://u@h/a%2Fb%3F%25c%2540", { database: "a/b?%c%40" }],
    ["postgres://h/d?user=u", { user: "u" }],
    ["postgres://u@h/d?connect_timeout=3", { connectionTimeoutMillis: 3000 }],
    ["postgres://u@h/d?application_name=a%20b", { application_name: "a b" }],
    ["postgres://u@h/d?options=-csearch_path%3Dx", { options: "-csearch_path=x" }],
  ])("the connection string %s is parsed", (text, part) => {
    assert.deepInclude(parsed(text), part)
  })

  it.each<[query: string, host: string, ssl: Parsed["ssl"]]>([
    ["", "localhost", false],
    ["", "127.0.0.53", false],
    ["", "[::1]", false],
    ["", "%2Frun%2Fpg", false],
    ["?sslmode=verify-full", "%2Frun%2Fpg", false],
    ["", "db.example.com", {}],
    ["", "10.0.0.1", {}],
    ["", "127.example.com", {}],
    ["?sslmode=disable", "db.example.com", false],
    ["?sslmode=require", "localhost", { rejectUnauthorized: false }],
    ["?sslmode=verify-full", "localhost", {}],
    ["?sslmode=require&sslmode=verify-full", "localhost", {}],
  ])("the parameters %j and the host %s decide whether TLS is used", (query, host, ssl) => {
    assert.deepStrictEqual(parsed(`postgres://u@${host}/d${query}`).ssl, ssl)
  })
})

it("libpq's environment variables supply the parts that a connection string omits", () => {
  const environment = {
    PGUSER: "u",
    PGPASSWORD: "p",
    PGHOST: "h",
    PGPORT: "7",
    PGDATABASE: "d",
    PGSSLMODE: "require",
  }
  const found = parsed("postgres://", environment)
  assert.deepInclude(found, { host: "h", port: 7, user: "u", database: "d" })
  assert.deepStrictEqual(found.ssl, { rejectUnauthorized: false })
  assert.strictEqual(found.password, "p")

  const given = parsed("postgres://v:q@i:8/e?sslmode=disable", environment)
  assert.deepInclude(given, { host: "i", port: 8, user: "v", database: "e", ssl: false })
  assert.strictEqual(given.password, "q")

  assert.deepStrictEqual(parsed("postgres://u", { PGHOST: "", PGUSER: "u", PGPORT: "" }).ssl, {})
  assert.strictEqual(parsed("postgres://h", { USER: "me" }).user, "me")
  assert.match(errorOf("postgres://u@/d", { PGHOST: "a,b" }), /expected one host/)
  assert.match(errorOf("postgres://u@h/d", { PGSSLMODE: "prefer" }), /sslmode=prefer is not/)
})

describe("an invalid connection string", () => {
  it.each<[text: string, problem: RegExp]>([
    ["mysql://u@h/d", /expected postgres:\/\/USER/],
    ["postgres://u:SEC/RET@h/d", /percent-encode/],
    ["postgres://u:12/SECRET?SECRET=1@h/d", /percent-encode/],
    ["postgres://u:12?SECRET=1@h/d", /percent-encode/],
    ["postgres://u:12#SECRET@h/d", /percent-encode/],
    ["postgres://u:SECRET", /percent-encode/],
    ["postgres://u:SECRET%zz@h/d", /%25 for %/],
    ["postgres://u:SECRET%ff@h/d", /percent-encode/],
    ["postgres://u@h/d?password=a&SECRET=b", /the parameter password is not supported/],
    ["postgres://u@h/d?sslpassword=a&SECRET=b", /the parameter sslpassword is not supported/],
    ["postgres://u@a,b/d", /^\S+ expected one host, .*put PgBouncer, HAProxy or a virtual address/],
    ["postgres://u:SECRET@a:1,b:2/d", /expected one host/],
    ["postgres://u@/d?host=a,b", /expected one host/],
    ["postgres://u@h/d?port=0", /a port from 1 to 65535/],
    ["postgres://u@h:65536/d", /expected postgres/],
    ["postgres://u@::1/d", /expected postgres/],
    ["postgres://h/d", /it has no user/],
    [
      "postgres://u@h/d?sslmod=require",
      /the parameter sslmod is not supported; the parameters are host, /,
    ],
    ["postgres://u@h/d?target_session_attrs=any", /the parameter target_session_attrs is not/],
    ["postgres://u@h/d?sslmode=allow", /sslmode=allow is not supported; use disable, require, /],
    ["postgres://u@h/d?sslmode=prefer", /sslmode=prefer is not supported; use disable, require, /],
    ["postgres://u@h/d?sslmode=no-verify", /sslmode=no-verify is not supported/],
    ["postgres://u@h/d?sslmode=require&sslmode=allow", /sslmode=allow is not supported/],
    ["postgres://u@h/d?sslmode=verify-ca", /needs sslrootcert/],
    ["postgres://u@h/d?sslrootcert=system", /a file .* cannot be read.*ENOENT.*system/],
    ["postgres://u@h/d?sslrootcert=/no/such.crt", /a file .* cannot be read.*ENOENT.*such.crt/],
    ["postgres://u@h/d?connect_timeout=1.5", /seconds from 1 to 999/],
    ["postgres://u@h/d?connect_timeout=0", /seconds from 1 to 999/],
  ])("the connection string %s is refused, with its password hidden", (text, problem) => {
    const message = errorOf(text)
    assert.match(message, /^AUTHORITY_DATABASE_URL: [^\n]+$/)
    assert.match(message, problem)
    assert.notMatch(message, /SEC|RET/)
  })
})

/** Passwords with raw separators, such as @ and /. */
const password = fc
  .array(fc.constantFrom("@", "/", "?", "#", "&", "=", ":", "%", ",", "[", "SECRET"), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.join(""))

describe("the password of a connection string", () => {
  it.prop(
    "a password never appears in messages or descriptions, even if it is not percent-encoded",
    { password },
    (given) => {
      for (const text of [
        `postgres://u:${given.password}@h:1/d`,
        `postgres://u:x@h/d?password=${given.password}`,
        `postgres://u:x@h/d?sslpassword=${given.password}&sslmode=require`,
      ]) {
        const problem = Either.match(ConnectionString.parse(text, {}), {
          onLeft: ({ message }) => message,
          onRight: () => "",
        })
        assert.notInclude(problem, "SECRET", text)
        assert.notInclude(ConnectionString.shown(text, {}), "SECRET", text)
      }
    },
  )

  it.prop(
    "a percent-encoded password is decoded to the original text",
    { text: fc.fullUnicodeString({ minLength: 1 }) },
    ({ text }) => {
      const url = `postgres://u:${encodeURIComponent(text)}@h/d`
      assert.strictEqual(parsed(url).password, text)
    },
  )
})

it("a connection string is shown with its user, host, port and database only", () => {
  const show = (text: string) => ConnectionString.shown(text, {})
  assert.strictEqual(show("postgres://u:p@h:1/d?application_name=x"), "postgres://u@h:1/d")
  assert.strictEqual(show("postgres://u:p@[::1]/d"), "postgres://u@[::1]:5432/d")
  assert.strictEqual(show("postgres://u@/d?host=/r"), "postgres://u@%2Fr:5432/d")
  assert.strictEqual(show("anything else: SECRET"), "postgres://…")
})
