/**
 * Checks that each act of an operator gives the same document on the command line and over the
 * administration API.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { AdminApi } from "../../src/contract/AdminApi.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import * as TestServer from "../support/TestServer.ts"
import { document } from "../support/Verb.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

/** The endpoint, the command, the request, and the fields that only the command prints. */
type Act = readonly [
  endpoint: string,
  command: (key: string) => string,
  request: (key: string) => readonly [method: string, path: string, body?: object],
  more?: ReadonlyArray<string>,
]

const acts: ReadonlyArray<Act> = [
  [
    "createAccount",
    () => "account create beta --credits 50",
    () => ["POST", "accounts", { name: "beta", credits: 50 }],
  ],
  ["accounts", () => "account list", () => ["GET", "accounts?search=beta"]],
  [
    "changeCredits",
    () => "credits grant --account beta --amount 7 --note May",
    () => ["POST", "accounts/beta/credits", { amount: 7, note: "May" }],
  ],
  [
    "changeCredits",
    () => "credits correct --account beta --amount 5 --note typo",
    () => ["POST", "accounts/beta/credits", { amount: -5, note: "typo" }],
  ],
  [
    "createKey",
    () => "key create --account beta --label ci --expires-in 90d --budget 500/day --scopes read",
    () => [
      "POST",
      "accounts/beta/keys",
      { label: "ci", expiresIn: "90d", budget: "500/day", scopes: ["read"] },
    ],
  ],
  ["accountKeys", () => "key list --account beta", () => ["GET", "accounts/beta/keys"]],
  [
    "updateKey",
    (key) => `key update ${key} --budget 20/month --label interns`,
    (key) => ["PATCH", `keys/${key}`, { budget: "20/month", label: "interns" }],
    ["id", "label", "budget", "scopes", "expiresAt"],
  ],
  [
    "rotateKey",
    (key) => `key rotate ${key} --grace 1h`,
    (key) => ["POST", `keys/${key}/rotate`, { grace: "1h" }],
  ],
  ["revokeKey", (key) => `key revoke ${key}`, (key) => ["DELETE", `keys/${key}`]],
  [
    "updateAccount",
    () => "account suspend beta",
    () => ["PATCH", "accounts/beta", { suspended: true }],
    ["suspended"],
  ],
  [
    "updateAccount",
    () => "account resume beta",
    () => ["PATCH", "accounts/beta", { suspended: false }],
    ["suspended"],
  ],
  ["adminUsage", () => "usage --account beta", () => ["GET", "usage?account=beta"]],
  ["adminUsage", () => "usage --by account", () => ["GET", "usage?by=account"]],
  ["adminHistory", () => "history Example.com", () => ["GET", "history?url=Example.com"]],
  ["providerReport", () => "provider report", () => ["GET", "provider/report"]],
  ["audit", () => "audit --limit 9", () => ["GET", "audit?limit=9"]],
]

/**
 * Endpoints without an equal command: some have no command, and others answer differently, such as
 * with a page of a statement, newest first, or with the providers as a serving process knows them.
 */
const others = ["account", "adminDocument", "keys", "overview", "providerStatus", "statement"]

/** Replaces the values that differ from one database to another. */
const masked = (document: object): unknown =>
  JSON.parse(
    JSON.stringify(document)
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
      .replaceAll(/am_\w+/g, "KEY")
      .replaceAll(/"actor":"[^"]+"/g, '"actor":"ACTOR"')
      .replaceAll(/"sequence":\d+/g, '"sequence":1'),
  )

describe("an operator's acts on the command line and over the administration API", () => {
  it.scopedLive(
    "the command line and the administration API give the same document for each act",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const { url } = yield* TestServer.start({ adminToken })
        const ask = (method: string, path: string, body?: object) =>
          Effect.promise(async () => {
            const response = await fetch(`${url}/admin/v1/${path}`, {
              method,
              headers: {
                authorization: `Bearer ${adminToken}`,
                ...(body !== undefined && { "content-type": "application/json" }),
              },
              ...(body !== undefined && { body: JSON.stringify(body) }),
            })
            const { data } = Object(await response.json())
            assert.isTrue(response.ok, path)
            return data
          })
        let [printedKey, answeredKey] = ["", ""]
        for (const [endpoint, command, request, more = []] of acts) {
          const printed = yield* document(cwd, ...command(printedKey).split(" "))
          const answered = yield* ask(...request(answeredKey))
          if (endpoint === "createKey") [printedKey, answeredKey] = [printed.id, answered.id]
          const shared = Object.entries(printed).filter(([name]) => !more.includes(name))
          assert.includeMembers(Object.keys(printed), [...more])
          assert.deepStrictEqual(
            masked(Object.fromEntries(shared)),
            masked(answered),
            command(printedKey),
          )
        }
      }),
  )

  it("every endpoint of the administration API is compared with a command or left out on purpose", () => {
    const endpoints = Object.values(AdminApi.groups).flatMap(({ endpoints }) =>
      Object.keys(endpoints),
    )
    const named = new Set([...acts.map(([endpoint]) => endpoint), ...others])
    assert.sameMembers([...named], endpoints)
  })
})
