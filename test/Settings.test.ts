import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Settings from "../src/Settings.ts"

const settingsOf = (environment: Record<string, string>) =>
  Effect.provide(Settings.Settings, Settings.from(environment))

/** Returns the error message for an invalid environment. */
const errorOf = (environment: Record<string, string>) =>
  Effect.map(Effect.flip(settingsOf(environment)), ({ message }) => message)

const defaults = {
  host: "127.0.0.1",
  port: 8080,
  databaseUrl: Redacted.make("sqlite:authority.db"),
  providers: ["sandbox"],
  mozUrl: "https://api.moz.com/jsonrpc",
  providerTimeout: Duration.seconds(10),
  requestTimeout: Duration.seconds(30),
  creditPrice: 1,
  logLevel: "info",
  logFormat: "auto",
} as const

describe("an empty environment", () => {
  it.effect("an empty environment gives the default settings", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* settingsOf({}), defaults)
    }),
  )

  it.effect("an empty or blank environment variable counts as unset", () =>
    Effect.gen(function* () {
      const names = Object.values(Settings.all).map(({ about }) => about.name)
      const unset = yield* settingsOf({})
      for (const nothing of ["", "  \t"]) {
        const blank = Object.fromEntries(names.map((name) => [name, nothing]))
        assert.deepStrictEqual(yield* settingsOf(blank), unset)
      }
    }),
  )

  it.effect("each setting's documented default is its real default", () =>
    Effect.gen(function* () {
      const documented = Object.values(Settings.all).flatMap(({ about }) =>
        about.default === undefined ? [] : [[about.name, about.default] as const],
      )
      assert.isNotEmpty(documented)
      assert.deepStrictEqual(
        yield* settingsOf(Object.fromEntries(documented)),
        yield* settingsOf({}),
      )
    }),
  )
})

describe("a valid setting", () => {
  it.effect.each<[name: string, value: string, key: keyof typeof Settings.all, decoded: unknown]>([
    ["AUTHORITY_HOST", "0.0.0.0", "host", "0.0.0.0"],
    ["AUTHORITY_PORT", "0", "port", 0],
    ["AUTHORITY_PORT", " 65535 ", "port", 65535],
    [
      "AUTHORITY_DATABASE_URL",
      "sqlite:/var/lib/a b.db",
      "databaseUrl",
      Redacted.make("sqlite:/var/lib/a b.db"),
    ],
    ["AUTHORITY_DATABASE_CONNECTIONS", "100", "databaseConnections", 100],
    ["AUTHORITY_MOZ_URL", "http://127.0.0.1:1/x", "mozUrl", "http://127.0.0.1:1/x"],
    ["AUTHORITY_PROVIDER_TIMEOUT", "500ms", "providerTimeout", Duration.millis(500)],
    ["AUTHORITY_REQUEST_TIMEOUT", "2m", "requestTimeout", Duration.minutes(2)],
    ["AUTHORITY_CREDIT_PRICE", "1000000", "creditPrice", 1_000_000],
    ["AUTHORITY_CREDIT_VALUE", "0.0125", "creditValue", 12_500],
    ["AUTHORITY_CURRENCY", "EUR", "currency", "EUR"],
    ["AUTHORITY_RATE_LIMIT", "600/1m", "rateLimit", { requests: 600, per: Duration.minutes(1) }],
    ["AUTHORITY_LOG_LEVEL", "none", "logLevel", "none"],
    ["AUTHORITY_LOG_FORMAT", "json", "logFormat", "json"],
    ["AUTHORITY_CORS_ORIGINS", "*", "corsOrigins", ["*"]],
    [
      "AUTHORITY_CORS_ORIGINS",
      "https://a.example, http://localhost:3000",
      "corsOrigins",
      ["https://a.example", "http://localhost:3000"],
    ],
  ])("the setting %s accepts the value %s", ([name, value, key, decoded]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* settingsOf({ [name]: value }))[key], decoded)
    }),
  )
})

describe("an unknown setting", () => {
  it("an unknown name that begins with AUTHORITY_ is reported with the nearest setting", () => {
    assert.deepStrictEqual(
      Settings.unknownNames({
        AUTHORITY_PORT: "1",
        AUTHORITY_PROT: "1",
        AUTHORITY_DATABASE: "",
        AUTHORITY_FROBNICATE: "1",
        AUTHORITY_API_KEY: "am_1",
        AUTHORITY_URL: "https://service.example.com",
        PORT: "1",
      }),
      [
        { name: "AUTHORITY_PROT", nearest: "AUTHORITY_PORT" },
        { name: "AUTHORITY_DATABASE", nearest: "AUTHORITY_DATABASE_URL" },
        { name: "AUTHORITY_FROBNICATE", nearest: undefined },
      ],
    )
  })
})

describe("an invalid setting", () => {
  it.effect.each<[name: string, expectation: string, values: ReadonlyArray<string>]>([
    [
      "AUTHORITY_PORT",
      "expected a whole number from 0 to 65535",
      ["-1", "65536", "80.5", "http", "NaN", "Infinity", "8 0"],
    ],
    [
      "AUTHORITY_DATABASE_CONNECTIONS",
      "expected a whole number from 1 to 100",
      ["0", "-1", "101", "1.5", "ten"],
    ],
    [
      "AUTHORITY_CREDIT_PRICE",
      "expected a whole number from 1 to 1000000",
      ["0", "-1", "0.5", "1000001", "1e99", "one"],
    ],
    [
      "AUTHORITY_CREDIT_VALUE",
      "expected an amount such as 2.50",
      ["-1", "1,5", "0.0000001", "$1", "1000001"],
    ],
    ["AUTHORITY_CURRENCY", "expected three capital letters", ["usd", "US", "DOLLAR", "$"]],
    ["AUTHORITY_DATABASE_URL", "expected sqlite:FILE", ["authority.db", "sqlite:", "mysql://a/b"]],
    ["AUTHORITY_PROVIDER", "expected ", ["Sandbox!", "nobody"]],
    [
      "AUTHORITY_MOZ_URL",
      "expected an http or https address",
      ["api.moz.com", "ftp://api.moz.com", "https://"],
    ],
    [
      "AUTHORITY_PROVIDER_TIMEOUT",
      "expected a length of time such as 500ms, 10s, 5m or 24h, from 10ms to 10m",
      ["10", "10 s", "s", "-1s", "1.5s", "9ms", "11m", "1h", "1y", "9999999999s"],
    ],
    [
      "AUTHORITY_REQUEST_TIMEOUT",
      "expected a length of time such as 500ms, 10s, 5m or 24h, from 10ms to 10m",
      ["0s", "forever"],
    ],
    [
      "AUTHORITY_RATE_LIMIT",
      "expected a number and a length of time such as 600/1m",
      [
        "600",
        "600/",
        "/1m",
        "0/1m",
        "1.5/1m",
        "-1/1m",
        "600/0s",
        "600/1m/1",
        "many/1m",
        "1/3651d",
        "1e300/1m",
      ],
    ],
    ["AUTHORITY_LOG_LEVEL", "expected one of trace, debug, info, ", ["verbose", "INFO!"]],
    ["AUTHORITY_LOG_FORMAT", "expected one of auto, pretty, json", ["xml"]],
    [
      "AUTHORITY_CORS_ORIGINS",
      "expected origins such as https://app.example.com, separated by commas, or *",
      ["app.example.com", "https://a.example/", "https://a.example,", "https://a.example/path"],
    ],
  ])("an invalid %s gives one sentence that names the setting", ([name, expectation, values]) =>
    Effect.gen(function* () {
      for (const value of values) {
        const message = yield* errorOf({ [name]: value })
        assert.isTrue(message.startsWith(`${name}: ${expectation}`), `${value} gave: ${message}`)
        assert.notInclude(message, "\n")
        assert.notInclude(message, "; ", `${value} gave more than one sentence: ${message}`)
      }
    }),
  )

  it.effect("several invalid settings are reported together", () =>
    Effect.gen(function* () {
      const message = yield* errorOf({
        AUTHORITY_PORT: "http",
        AUTHORITY_CREDIT_PRICE: "0",
        AUTHORITY_LOG_FORMAT: "xml",
        AUTHORITY_LOG_LEVEL: "debug",
      })
      assert.deepStrictEqual(message.split("; "), [
        "AUTHORITY_PORT: expected a whole number from 0 to 65535",
        "AUTHORITY_CREDIT_PRICE: expected a whole number from 1 to 1000000",
        "AUTHORITY_LOG_FORMAT: expected one of auto, pretty, json",
      ])
    }),
  )
})

describe("a secret in the settings", () => {
  const secrets = Object.values(Settings.all).flatMap(({ about }) =>
    about.isSecret ? [about.name] : [],
  )
  const given = Object.fromEntries(secrets.map((name) => [name, `hush-${name}-${"x".repeat(32)}`]))

  it.effect("the program can read the value of a secret setting", () =>
    Effect.gen(function* () {
      const { mozToken } = yield* settingsOf({ AUTHORITY_MOZ_TOKEN: "hush" })
      assert.strictEqual(mozToken && Redacted.value(mozToken), "hush")
    }),
  )

  it.effect(
    "the value of a secret setting is hidden when the settings are printed in any way",
    () =>
      Effect.gen(function* () {
        assert.include(secrets, "AUTHORITY_MOZ_TOKEN")
        const settings = yield* settingsOf(given)
        for (const printed of [JSON.stringify(settings), inspect(settings)]) {
          assert.notInclude(printed, "hush")
        }
        for (const value of Object.values(settings)) assert.notInclude(String(value), "hush")
        assert.notInclude(inspect(settings, { depth: null, showHidden: true }), "hush")
      }),
  )

  it.effect(
    "an error about an invalid setting does not contain the values of secret settings",
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(settingsOf({ ...given, AUTHORITY_PORT: "http" }))
        assert.notInclude(error.message, "hush")
        assert.notInclude(inspect(error, { depth: null, showHidden: true }), "hush")
      }),
  )
})
