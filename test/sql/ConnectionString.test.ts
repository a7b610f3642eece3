import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as Redacted from "effect/Redacted"
import * as ConnectionString from "../../src/sql/ConnectionString.ts"

type Parsed = ConnectionString.ConnectionString

const parsed = (text: string, environment: Record<string, string> = {}): Parsed =>
  Either.getOrThrowWith(ConnectionString.parse(text, environment), (error) => error)

const errorOf = (text: string): string =>
  Either.match(ConnectionString.parse(text, {}), {
    onLeft: ({ message }) => message,
    onRight: () => assert.fail(`${text} was accepted`),
  })

const passwordOf = ({ password }: Parsed) => password && Redacted.value(password)

describe("a connection string", () => {
  it("a connection string gives hosts, user, password and database, with defaults for missing parts", () => {
    assert.deepStrictEqual(parsed("postgres://u:p@h:1/d"), {
      hosts: [{ host: "h", port: 1 }],
      user: "u",
      password: Redacted.make("p"),
      database: "d",
      targetSessionAttrs: "any",
      sslMode: "prefer",
      sslRootCert: undefined,
      sslCert: undefined,
      sslKey: undefined,
      sslPassword: undefined,
      connectTimeoutMs: undefined,
      applicationName: undefined,
      options: undefined,
    })
  })

  it.each<[text: string, part: Partial<Parsed>]>([
    ["postgresql://u@h", { hosts: [{ host: "h", port: 5432 }], user: "u", database: "u" }],
    ["postgres://u@", { hosts: [{ host: "localhost", port: 5432 }] }],
    ["postgres://u@/d?host=/run/pg&port=7", { hosts: [{ host: "/run/pg", port: 7 }] }],
    ["postgres://u@:7/d?host=/run/pg", { hosts: [{ host: "/run/pg", port: 7 }] }],
    ["postgres://u@%2Frun%2Fpg:7/d", { hosts: [{ host: "/run/pg", port: 7 }] }],
    ["postgres://u@[::1]:7/d", { hosts: [{ host: "::1", port: 7 }] }],
    ["postgres://u@[fe80::1]/d", { hosts: [{ host: "fe80::1", port: 5432 }] }],
    [
      "postgres://u@a:1,[::1],c:3/d",
      {
        hosts: [
          { host: "a", port: 1 },
          { host: "::1", port: 5432 },
          { host: "c", port: 3 },
        ],
      },
    ],
    [
      "postgres://u@/d?host=a,/run/pg&port=9",
      {
        hosts: [
          { host: "a", port: 9 },
          { host: "/run/pg", port: 9 },
        ],
      },
    ],
    [
      "postgres://u@/d?host=a,b&port=1,2",
      {
        hosts: [
          { host: "a", port: 1 },
          { host: "b", port: 2 },
        ],
      },
    ],
    ["postgres://%C3%BC%40x@h/d%20b%2Fc", { user: "ü@x", database: "d b/c" }],
    ["postgres://h?user=u&dbname=d", { user: "u", database: "d" }],
    ["postgres://u@h/d?target_session_attrs=read-write", { targetSessionAttrs: "read-write" }],
    ["postgres://u@h/d?sslmode=require&", { sslMode: "require" }],
    ["postgres://u@h/d?ssl=true", { sslMode: "require" }],
    ["postgres://u@h/d?sslrootcert=system", { sslMode: "verify-full", sslRootCert: "system" }],
    ["postgres://u@h/d?sslcert=/c&sslkey=/k", { sslCert: "/c", sslKey: "/k" }],
    ["postgres://u@h/d?connect_timeout=3", { connectTimeoutMs: 3000 }],
    ["postgres://u@h/d?application_name=a%20b", { applicationName: "a b" }],
    ["postgres://u@h/d?options=-csearch_path=x", { options: "-csearch_path=x" }],
    ["postgres://u@h/d?channel_binding=prefer&gssencmode=disable&client_encoding=UTF8", {}],
  ])("the connection string %s is parsed as libpq parses it", (text, part) => {
    assert.deepInclude(parsed(text), part)
  })

  // The passwords that psql 15 reads from these strings.
  it.each([
    ["postgres://u:a:b?c#d@h/d", "a:b?c#d"],
    ["postgres://u:a%40b%2Fc%25@h/d", "a@b/c%"],
    ["postgres://u:a+b@h/d", "a+b"],
    ["postgres://u@h/d?password=a%26b+c", "a&b+c"],
    ["postgres://u:x@h/d?password=y", "y"],
    ["postgres://u@h/d?password=a@b", "a@b"],
    ["postgres://u@h/d", undefined],
  ])("the password in the connection string %s is parsed as libpq parses it", (text, password) => {
    assert.strictEqual(passwordOf(parsed(text)), password)
  })
})

describe("the environment variables of libpq", () => {
  it("libpq's environment variables supply the parts that a connection string omits", () => {
    const environment = {
      PGUSER: "u",
      PGPASSWORD: "p",
      PGHOST: "a,b",
      PGPORT: "7",
      PGDATABASE: "d",
      PGSSLMODE: "require",
      PGTARGETSESSIONATTRS: "primary",
      PGCONNECT_TIMEOUT: "2",
    }
    const found = parsed("postgres://", environment)
    assert.deepInclude(found, {
      hosts: [
        { host: "a", port: 7 },
        { host: "b", port: 7 },
      ],
      user: "u",
      database: "d",
      sslMode: "require",
      targetSessionAttrs: "primary",
      connectTimeoutMs: 2000,
    })
    assert.strictEqual(passwordOf(found), "p")
  })

  it("a connection string overrides environment variables, and empty variables are ignored", () => {
    const found = parsed("postgres://u:p@h:1/d", { PGPASSWORD: "x", PGHOST: "y", PGPORT: "" })
    assert.deepStrictEqual(found.hosts, [{ host: "h", port: 1 }])
    assert.strictEqual(passwordOf(found), "p")
  })

  it("the database user defaults to the environment variable USER", () => {
    assert.strictEqual(parsed("postgres://h", { USER: "me" }).user, "me")
  })
})

describe("an invalid connection string", () => {
  it.each<[text: string, problem: RegExp]>([
    ["mysql://u@h/d", /expected postgres:\/\/USER/],
    ["postgres://u:SECRET@RET@h/d", /percent-encode it \(%40 for @/],
    ["postgres://u:SEC/RET@h/d", /percent-encode it/],
    ["postgres://u:12/SECRET?SECRET=1@h/d", /percent-encode it/],
    ["postgres://u:SECRET", /percent-encode it/],
    ["postgres://u:SECRET%zz@h/d", /write %25 for a %/],
    ["postgres://u:SECRET%ff@h/d", /not valid UTF-8/],
    ["postgres://u:SECRET%00@h/d", /write %25 for a %/],
    ["postgres://u@h/d?password=a&SECRET=b", /& as %26/],
    ["postgres://u@h/d?password=a&SECRET", /%26/],
    ["postgres://u@h:0/d", /ports from 1 to 65535/],
    ["postgres://u@h:65536/d", /ports from 1 to 65535/],
    ["postgres://u@::1/d", /IPv6 address in brackets/],
    ["postgres://u@a,b,c/d?port=1,2", /2 ports do not match 3 hosts/],
    ["postgres://u@/d?host=run/pg", /nor the absolute path/],
    ["postgres://h/d", /it has no user/],
    ["postgres://u@h/d?sslmod=require", /there is no parameter sslmod; did you mean sslmode\?/],
    ["postgres://u@h/d?SSLMODE=require", /no parameter SSLMODE; did you mean sslmode\?/],
    ["postgres://u@h/d?connection_timeout=1", /did you mean connect_timeout\?/],
    ["postgres://u@h/d?target_session_attr=any", /did you mean target_session_attrs\?/],
    [
      "postgres://u@h/d?pgbouncer=true",
      /no parameter pgbouncer; the parameters are user, password, host,/,
    ],
    ["postgres://u@h/d?hostaddr=::1", /the parameter hostaddr is not supported; write the address/],
    [
      "postgres://u@h/d?channel_binding=require",
      /this value of channel_binding is not supported; use channel_binding=prefer/,
    ],
    ["postgres://u@h/d?sslcrl=/x", /sslcrl is not supported; leave it out/],
    ["postgres://u@h/d?sslmode=no-verify", /use require, which encrypts without verifying/],
    ["postgres://u@h/d?sslmode=on", /sslmode must be one of disable, allow, /],
    ["postgres://u@h/d?sslmode=verify-ca", /needs sslrootcert/],
    ["postgres://u@h/d?sslmode=require&sslrootcert=system", /needs sslmode=verify-full/],
    ["postgres://u@h/d?sslcert=/x", /belong together/],
    ["postgres://u@h/d?target_session_attrs=standby", /use read-write/],
    ["postgres://u@h/d?target_session_attrs=x", /must be one of any, read-write, primary/],
    ["postgres://u@h/d?connect_timeout=1.5", /seconds from 1 to 600/],
    ["postgres://u@h/d?connect_timeout=0", /seconds from 1 to 600/],
  ])(
    "the connection string %s is refused with a reason that hides its password",
    (text, problem) => {
      const message = errorOf(text)
      assert.match(message, /^AUTHORITY_DATABASE_URL: [^\n]+$/)
      assert.match(message, problem)
      assert.notMatch(message, /SEC|RET/)
    },
  )
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
      fc.pre(!text.includes("\0"))
      const encoded = encodeURIComponent(text)
      assert.strictEqual(passwordOf(parsed(`postgres://u:${encoded}@h/d`)), text)
      assert.strictEqual(passwordOf(parsed(`postgres://u@h/d?password=${encoded}`)), text)
    },
  )
})

it("a connection string is shown with its user, hosts, ports and database only", () => {
  const show = (text: string) => ConnectionString.shown(text, {})
  assert.strictEqual(show("postgres://u:p@h:1/d?sslpassword=x"), "postgres://u@h:1/d")
  assert.strictEqual(show("postgres://u@a:1,[::1]:2/d"), "postgres://u@a:1,[::1]:2/d")
  assert.strictEqual(show("postgres://u@/d?host=/r"), "postgres://u@%2Fr:5432/d")
  assert.strictEqual(show("anything else: SECRET"), "postgres://…")
})
