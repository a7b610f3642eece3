/** Tests the operator's part of the console in a real browser. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Page } from "playwright-core"
import { AccountName } from "../../src/accounts/Account.ts"
import * as memory from "../support/memory.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import { Costs } from "../../src/providers/costs/Costs.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
import { isMissing, keyboardOf, visit } from "../support/Browser.ts"
import { downloaded, timeout } from "../support/ConsolePage.ts"
import { batchPath, start } from "../support/TestServer.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

/** Three calls: one was answered, one failed, and one is without an answer. */
const bought = Layer.tap(memory.costs, (context) =>
  Context.get(context, Costs).add([
    {
      provider: "moz",
      day: Math.floor(Date.now() / 86_400_000),
      calls: 3,
      rows: 1200,
      cost: 12_500_000,
      failed: 1,
      unanswered: 1,
    },
  ]),
)

/** A vendor that counts rows. */
const counting = Layer.map(Sandbox.layer, (context) => {
  const circuits = Effect.succeed([
    {
      provider: "moz",
      openReason: undefined,
      isExhausted: false,
      isPaused: false,
      calls: { inFlight: 0, limit: 16, latencyMs: null, errors: [] },
      status: Effect.succeed({
        quota: { unit: "rows", allotted: 10_000, left: 8770, resetsAt: null },
      }),
    },
  ])
  return Context.make(MetricsProvider, { ...Context.get(context, MetricsProvider), circuits })
})

const signIn = async (page: Page, token: string) => {
  await page.getByLabel("Token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
}

/** Opens a page of the navigation. */
const go = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Administration" }).getByRole("link", { name }).click()

/** Opens the page of a customer. */
const open = async (page: Page, name: string) => {
  await go(page, "Customers")
  await page.getByRole("link", { name, exact: true }).click()
  await page.getByRole("button", { name: "Grant" }).waitFor()
}

const tableOf = (page: Page, name: string) => page.getByRole("group", { name, exact: true })

const widthOf = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth")

describe.skipIf(isMissing)("the operator's part of the console", () => {
  it.scopedLive(
    "an operator sees who spent most and which key, and stops that key",
    () =>
      Effect.gen(function* () {
        const { key, keyId, url } = yield* start({ adminToken, credits: 1000 })
        const check = (urls: ReadonlyArray<string>) =>
          Effect.promise(() =>
            fetch(`${url}${batchPath}`, {
              method: "POST",
              headers: { "x-api-key": key, "content-type": "application/json" },
              body: JSON.stringify({ urls }),
            }),
          )
        yield* check(["a.com", "b.com", "c.com"])
        const { act, examine } = yield* visit(url, "/console/operator", {
          viewport: { width: 320, height: 600 },
        })
        assert.isAtMost(yield* act(widthOf), 320)
        yield* act((page) => page.setViewportSize({ width: 1280, height: 900 }))
        yield* act((page) => signIn(page, "wrong"))
        yield* act((page) => page.getByText("The token is wrong.").waitFor())
        // Ten wrong tokens in a minute get another answer.
        for (const wrong of ["токен", "second", "third", "wrong"]) {
          yield* act((page) => signIn(page, wrong))
          yield* act((page) =>
            page.getByText(wrong === "токен" ? "not ASCII" : "The token is wrong.").waitFor(),
          )
        }
        const token = yield* act((page) => page.locator("input:focus").inputValue())
        assert.strictEqual(token, "wrong")
        yield* examine("wrong token")
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => page.getByRole("heading", { name: "Last 30 days" }).waitFor())
        yield* examine("overview")
        yield* act((page) => go(page, "Customers"))
        const accounts = yield* act((page) => tableOf(page, "Most spent first").innerText())
        assert.match(accounts, /acme\s+3\s+997\s+0\s+3/)
        yield* act((page) => open(page, "acme"))
        yield* act((page) => page.getByRole("heading", { name: "Usage by day" }).waitFor())
        yield* examine("account")

        yield* act((page) => page.getByRole("button", { name: /^Revoke/ }).click())
        yield* act((page) => page.getByRole("button", { name: /^Revoke am_.*now$/ }).click())
        yield* act((page) => page.getByText("revoked", { exact: true }).waitFor())
        assert.strictEqual((yield* check(["a.com"])).status, 401)
        yield* act((page) => page.setViewportSize({ width: 390, height: 800 }))
        assert.isAtMost(yield* act(widthOf), 390)
        yield* examine("phone")
        yield* act((page) => go(page, "Audit"))
        yield* act((page) => page.getByLabel("Action").fill("key.revoke"))
        yield* act((page) => page.getByText("key.create").waitFor({ state: "detached" }))
        yield* act((page) => tableOf(page, "Changes, newest first").getByText(keyId).waitFor())
        yield* examine("audit")
        yield* act((page) => page.reload())
        yield* act((page) => page.getByLabel("Token").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "an operator makes an account and a key with a budget, corrects a grant and suspends the account",
    () =>
      Effect.gen(function* () {
        const { url } = yield* start({ adminToken })
        const { act, examine } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => go(page, "Customers"))
        yield* act((page) => page.getByRole("button", { name: "New customer" }).click())
        yield* act((page) => page.getByLabel("Name", { exact: true }).fill("beta"))
        yield* act((page) => page.getByLabel("Credits").fill("10000"))
        yield* act((page) => page.getByRole("button", { name: "Create" }).click())
        yield* act((page) => page.getByRole("heading", { name: "beta" }).waitFor())

        yield* act((page) => page.getByLabel("Credits to take back").fill("9000"))
        yield* act((page) => page.getByLabel("Note").last().fill("typed a zero too many"))
        yield* act((page) => page.getByRole("button", { name: "Correct" }).click())
        yield* act((page) =>
          page
            .locator("dd", { hasText: /^1,000$/ })
            .first()
            .waitFor(),
        )

        yield* act((page) => page.getByText("New key").click())
        yield* act((page) => page.getByLabel("Label", { exact: true }).fill("rank tracker"))
        yield* act((page) => page.getByLabel("Budget", { exact: true }).fill("5/day"))
        yield* act((page) => page.getByRole("button", { name: "Create" }).last().click())
        const secret = yield* act((page) => page.locator(".notice code").innerText())
        assert.match(secret, /^am_/)
        yield* examine("new key")
        yield* act((page) => page.getByRole("button", { name: "I have copied it" }).click())
        yield* act((page) => page.getByText("0 of 5 a day").waitFor())
        assert.notInclude(yield* act((page) => page.content()), secret)

        const armed = (name: string) => act((page) => page.getByRole("button", { name }).count())
        const suspend = Effect.gen(function* () {
          yield* act((page) => page.getByRole("button", { name: "Suspend" }).click())
          yield* act((page) => page.getByRole("button", { name: "Suspend beta" }).click())
          yield* act((page) => page.getByRole("button", { name: "Resume" }).waitFor())
        })
        // The second click of a double click is on "Suspend beta".
        yield* act((page) => page.getByRole("button", { name: "Suspend" }).dblclick())
        yield* act((page) => page.getByRole("button", { name: "Suspend beta" }).waitFor())
        yield* act((page) => page.getByRole("button", { name: "Cancel" }).click())
        yield* act((page) => page.locator("button:focus", { hasText: "Suspend" }).waitFor())
        yield* suspend
        yield* act((page) => page.getByRole("button", { name: "Resume" }).click())
        yield* act((page) => page.getByRole("button", { name: "Suspend" }).waitFor())
        assert.strictEqual(yield* armed("Suspend beta"), 0)
        yield* suspend
        // The old key still works, and a second click must not rotate it again.
        const ends = "Rotate: the old key ends in 24 h"
        yield* act((page) => page.getByRole("button", { name: /^Rotate/ }).click())
        yield* act((page) => page.getByRole("button", { name: ends }).click())
        yield* act((page) => page.locator(".notice code").waitFor())
        const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
        yield* act((page) => tableOf(page, "Keys").getByText(tomorrow).waitFor())
        assert.strictEqual(yield* armed(ends), 0)
        const credits = yield* Effect.promise(() =>
          fetch(`${url}/v1/quota/available-credits`, { headers: { "x-api-key": secret } }),
        )
        assert.strictEqual(credits.status, 403)
        yield* act((page) => go(page, "Customers"))
        yield* act((page) => page.getByRole("link", { name: "acme" }).waitFor())
        yield* act((page) => page.getByRole("searchbox").pressSequentially("rank"))
        yield* act((page) =>
          page.getByRole("link", { name: "acme" }).waitFor({ state: "detached" }),
        )
      }),
    timeout,
  )

  it.scopedLive(
    "the secrets of new keys stay until they are copied, on the page of their customer",
    () =>
      Effect.gen(function* () {
        const { accounts, url } = yield* start({ adminToken })
        for (let i = 0; i < 40; i++) yield* accounts.create(AccountName.make(`other-${i}`))
        const { act } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        const secrets = (page: Page) => page.locator(".notice code")
        yield* act((page) => open(page, "acme"))
        yield* act((page) => page.locator("h1:focus", { hasText: "acme" }).waitFor())
        yield* act((page) => page.getByText("New key").click())
        for (const count of [1, 2]) {
          yield* act((page) => page.getByRole("button", { name: "Create" }).last().click())
          yield* act((page) =>
            secrets(page)
              .nth(count - 1)
              .waitFor(),
          )
          assert.strictEqual(yield* act((page) => page.locator(".notice:focus").count()), 1)
        }
        const both = yield* act((page) => secrets(page).allInnerTexts())
        yield* act((page) => open(page, "other-7"))
        assert.strictEqual(yield* act((page) => secrets(page).count()), 0)
        yield* act((page) => open(page, "acme"))
        assert.deepStrictEqual(yield* act((page) => secrets(page).allInnerTexts()), both)
        const copied = act((page) =>
          page.getByRole("button", { name: "I have copied it" }).first().click(),
        )
        yield* copied
        assert.deepStrictEqual(yield* act((page) => secrets(page).allInnerTexts()), both.slice(1))
      }),
    timeout,
  )

  it.scopedLive(
    "at a zoom of 400 %, nothing is wider than the window, and a refusal is in sight",
    () =>
      Effect.gen(function* () {
        const { account, accounts, keys, url } = yield* start({ adminToken })
        yield* accounts.create(AccountName.make("n".repeat(60)))
        yield* keys.issue({ account, label: "l".repeat(200) })
        const { act, examine } = yield* visit(url, "/console/operator", {
          viewport: { width: 320, height: 256 },
        })
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => open(page, "acme"))
        yield* act((page) => page.getByText("New key").click())
        yield* act((page) => page.getByRole("button", { name: "Create" }).last().click())
        yield* act((page) => page.locator(".notice:focus").waitFor())
        assert.isAtMost(yield* act(widthOf), 320)
        const label = yield* act((page) => page.getByText("l".repeat(200)).first().boundingBox())
        assert.isAtMost(label?.width ?? Infinity, 400)
        yield* act((page) => page.getByLabel("Credits to take back").fill("9000"))
        yield* act((page) => page.getByLabel("Note").last().fill("more than there is"))
        yield* act((page) => page.getByRole("button", { name: "Correct" }).click())
        const refusal = (page: Page) => page.getByRole("alert").getByRole("paragraph")
        yield* act((page) => refusal(page).waitFor())
        const place = yield* act((page) => refusal(page).boundingBox())
        assert.isAtLeast(place?.y ?? -1, 0)
        yield* examine("refusal")
        yield* act((page) => open(page, "n".repeat(60)))
        yield* act((page) => page.locator("h1:focus", { hasText: "nnn" }).waitFor())
        yield* act((page) => page.getByRole("button", { name: "Suspend" }).click())
        assert.isAtMost(yield* act(widthOf), 320)
        yield* examine("long name")
      }),
    timeout,
  )

  it.scopedLive(
    "a grant is made once, also when its answer is lost or its result cannot be read",
    () =>
      Effect.gen(function* () {
        const { books, url } = yield* start({ adminToken, credits: 1000 })
        const { act } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => open(page, "acme"))
        yield* act((page) =>
          page.route("**/credits", async (route) => {
            await route.fetch()
            await route.fulfill({ status: 502 })
          }),
        )
        const amount = (page: Page) => page.getByLabel("Credits to grant")
        const grant = act((page) => page.getByRole("button", { name: "Grant" }).click())
        yield* act((page) => amount(page).fill("500"))
        yield* grant
        const mayBeDone = "The change may be made already"
        yield* act((page) => page.getByText(`The service answered 502. ${mayBeDone}`).waitFor())
        yield* act((page) => page.unroute("**/credits"))
        yield* act((page) =>
          page.route("**/credits", async (route) => {
            await route.fetch()
            await route.fulfill({ body: '{"success":' })
          }),
        )
        yield* grant
        yield* act((page) => page.getByText(`try again. ${mayBeDone}`).waitFor())
        yield* act((page) => page.unroute("**/credits"))
        yield* act((page) =>
          page.route("**/statement?*", (route) => route.fulfill({ status: 502 })),
        )
        yield* grant
        yield* act((page) => page.getByText("The service answered 502.").waitFor())
        assert.strictEqual(yield* act((page) => amount(page).inputValue()), "")
        assert.strictEqual(Number((yield* books).available), 1500)
        yield* act((page) => page.unroute("**/statement?*"))
        yield* act((page) => amount(page).fill("500"))
        yield* grant
        yield* act((page) =>
          page
            .locator("dd", { hasText: /^2,000$/ })
            .first()
            .waitFor(),
        )
      }),
    timeout,
  )

  it.scopedLive(
    "an account shows more keys than an answer has, and what each of many keys spent",
    () =>
      Effect.gen(function* () {
        const { account, keys, url } = yield* start({ adminToken, credits: 1000 })
        const issued = yield* Effect.replicateEffect(keys.issue({ account }), 1001)
        const check = (key: string, urls: ReadonlyArray<string>) =>
          Effect.promise(() =>
            fetch(`${url}${batchPath}`, {
              method: "POST",
              headers: { "x-api-key": key, "content-type": "application/json" },
              body: JSON.stringify({ urls }),
            }),
          )
        // An answer has 100 rows by default: those that spent most.
        for (const [i, { key }] of issued.slice(0, 101).entries()) {
          yield* check(Redacted.value(key), i === 0 ? ["a.com"] : ["a.com", "b.com"])
        }
        const { act } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => open(page, "acme"))
        const table = (page: Page) => tableOf(page, "Keys")
        yield* act((page) => table(page).waitFor())
        const rows = act((page) => table(page).locator("tbody tr").count())
        assert.strictEqual(yield* rows, 50)
        yield* act((page) => page.getByRole("button", { name: "Show all 1,002 rows" }).click())
        assert.strictEqual(yield* rows, 1002)
        const spent = yield* act((page) => table(page).locator("td.num").allInnerTexts())
        assert.strictEqual(spent.filter((credits) => credits === "1").length, 1)
      }),
    timeout,
  )

  it.scopedLive(
    "a call that hangs ends with advice, and the operator can sign out",
    () =>
      Effect.gen(function* () {
        const { url } = yield* start({ adminToken })
        const { act } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => open(page, "acme"))
        yield* act((page) => page.getByRole("button", { name: "Grant" }).waitFor())
        yield* act((page) => page.route("**/credits", () => {}))
        // A minute in the page is a second in the test.
        yield* act((page) =>
          page.evaluate(
            "AbortSignal.timeout = ((limit) => (ms) => limit.call(AbortSignal, ms / 60))(AbortSignal.timeout)",
          ),
        )
        yield* act((page) => page.getByLabel("Credits to grant").fill("500"))
        yield* act((page) => page.getByRole("button", { name: "Grant" }).click())
        yield* act((page) => page.getByText("press Refresh before you repeat it").waitFor())
        yield* act((page) => page.getByRole("button", { name: "Sign out" }).click())
        yield* act((page) => page.getByLabel("Token").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "the keyboard alone leads a customer from its first credits to its suspension, and keeps its place",
    () =>
      Effect.gen(function* () {
        const { url } = yield* start({ adminToken, credits: 1000 })
        const { act } = yield* visit(url, "/console/operator")
        const { hasFocus, press } = keyboardOf(act)
        yield* act((page) => page.getByLabel("Token").fill(adminToken))
        yield* act((page) => page.getByLabel("Token").press("Enter"))
        yield* hasFocus("h1", "Overview")

        let goOn = () => {}
        const held = new Promise<void>((resolve) => (goOn = resolve))
        yield* act((page) =>
          page.route("**/overview", (route) => held.then(() => route.continue())),
        )
        yield* press("Refresh")
        yield* hasFocus("[aria-disabled=true]", "Refresh")
        goOn()
        yield* hasFocus("[aria-disabled=false]", "Refresh")

        const type = (label: string, text: string) =>
          act(async (page) => {
            await page.getByLabel(label, { exact: true }).focus()
            await page.keyboard.type(text)
          })
        const enter = act((page) => page.keyboard.press("Enter"))
        yield* act((page) => page.getByRole("link", { name: "Customers" }).press("Enter"))
        yield* hasFocus("h1", "Customers")
        yield* press("New customer")
        yield* act((page) =>
          page.getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor(),
        )
        yield* act((page) => page.keyboard.type("beta"))
        yield* enter
        yield* hasFocus("h1", "beta")
        yield* type("Credits to grant", "500")
        yield* enter
        yield* act((page) => page.locator("dd", { hasText: /^500$/ }).first().waitFor())
        yield* type("Credits to take back", "100")
        yield* act((page) => page.keyboard.press("Tab"))
        yield* act((page) => page.keyboard.type("granted too much"))
        yield* enter
        yield* act((page) => page.locator("dd", { hasText: /^400$/ }).first().waitFor())

        yield* act((page) => page.getByText("New key").press("Enter"))
        yield* type("Label", "rank tracker")
        yield* enter
        yield* hasFocus(".notice", "This key is shown once")
        yield* press("I have copied it")
        yield* hasFocus("h1", "beta")
        yield* press(/^Change/)
        yield* act((page) => page.keyboard.type("2"))
        yield* enter
        yield* act((page) => page.getByText("rank tracker2").waitFor())
        yield* press(/^Revoke/)
        yield* press(/^Revoke am_.*now$/)
        yield* act((page) => page.getByText("revoked", { exact: true }).waitFor())
        yield* hasFocus("h2", "Keys")
        yield* press("Suspend")
        yield* press("Suspend beta")
        yield* act((page) => page.getByRole("button", { name: "Resume" }).waitFor())
        yield* hasFocus("h1", "beta")
        yield* press("Resume")
        yield* act((page) => page.getByRole("button", { name: "Suspend" }).waitFor())
        yield* press("Sign out")
        yield* hasFocus("h1", "Administration")
      }),
    timeout,
  )

  it.scopedLive(
    "a refused form shows what is wrong with each field",
    () =>
      Effect.gen(function* () {
        const { url } = yield* start({ adminToken })
        const { act } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => open(page, "acme"))
        yield* act((page) => page.getByText("New key").click())
        yield* act((page) => page.getByLabel("Label", { exact: true }).fill("l".repeat(201)))
        // The browser adds this to its own words for a text of another form.
        assert.strictEqual(
          yield* act((page) => page.getByLabel("Budget", { exact: true }).getAttribute("title")),
          "for example 500/day",
        )
        yield* act((page) => page.getByLabel("Budget", { exact: true }).fill("0/day"))
        yield* act((page) => page.getByRole("button", { name: "Create" }).last().click())
        const refusal = yield* act((page) =>
          page.getByRole("alert").getByRole("paragraph").innerText(),
        )
        assert.match(refusal, /^label: .* 200 .*; budget: expected a budget such as 500\/day/)
      }),
    timeout,
  )

  it.scopedLive(
    "an operator changes the label, the budget and the scopes of a key, on a phone",
    () =>
      Effect.gen(function* () {
        const { account, credits, key, keyId, keys, url } = yield* start({ adminToken })
        const { act, examine } = yield* visit(url, "/console/operator", {
          viewport: { width: 390, height: 800 },
        })
        yield* act((page) => signIn(page, adminToken))
        yield* act((page) => open(page, "acme"))
        const change = act((page) => page.getByRole("button", { name: /^Change/ }).click())
        const field = (page: Page, name: string) =>
          page.getByRole("form", { name: `Change ${key.slice(0, 9)}…` }).getByLabel(name)
        const save = () => act((page) => page.getByRole("button", { name: /^Save/ }).click())
        yield* change
        assert.isTrue(
          yield* act((page) => field(page, "Label").evaluate((input) => input.matches(":focus"))),
        )
        yield* act((page) => field(page, "Label").fill("rank tracker"))
        yield* act((page) => field(page, "Budget").fill("5/day"))
        yield* act((page) => field(page, "Scopes").selectOption("check"))
        yield* examine("change of a key")
        assert.isAtMost(yield* act(widthOf), 390)
        yield* save()
        yield* act((page) => page.getByText("0 of 5 a day").waitFor())
        assert.strictEqual((yield* credits).status, 403)

        yield* change
        yield* act((page) => field(page, "Budget").fill(""))
        yield* save()
        yield* act((page) => page.getByText("0 of 5 a day").waitFor({ state: "detached" }))
        const [changed] = yield* keys.list(account)
        assert.deepInclude(changed, {
          id: keyId,
          label: "rank tracker",
          scopes: ["check"],
          budget: null,
        })
        // The second line names the budget alone.
        yield* act((page) => go(page, "Audit"))
        const log = yield* act((page) => tableOf(page, "Changes, newest first").innerText())
        assert.match(log, /key\.update\s+\S+\s+account: acme, budget: none\n/)
      }),
    timeout,
  )

  it.scopedLive(
    "an operator sees what was bought and sold by day, and compares it with the vendor's own count",
    () =>
      Effect.gen(function* () {
        const { url } = yield* start({
          adminToken,
          costs: bought,
          provider: counting,
          ceilingOf: () => 3000,
        })
        const { act, examine } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        const textOf = (name: string) => act((page) => tableOf(page, name).innerText())
        yield* act((page) => go(page, "Vendors"))
        assert.match(yield* textOf("Calls and cost by day"), /moz\s+3\s+1,200\s+1\s+1\s+\$12.50/)
        // Beside the ceiling and the vendor's own count.
        const month = yield* textOf("This month")
        assert.match(month, /moz\s+working\s+1,230 of 10,000 rows\s+1,200 of 3,000 rows\s+\$12.50/)
        yield* examine("costs")
        yield* act((page) => page.setViewportSize({ width: 390, height: 800 }))
        assert.isAtMost(yield* act(widthOf), 390)
        yield* examine("costs on a phone")
      }),
    timeout,
  )

  it.scopedLive("a service without the administration has no operator's page", () =>
    Effect.gen(function* () {
      const { url } = yield* start()
      const { status } = yield* Effect.promise(() => fetch(`${url}/console/operator`))
      assert.strictEqual(status, 404)
    }),
  )

  it.scopedLive(
    "the overview shows what was sold, what it cost, and who runs out, with revenue and margin",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* start({
          adminToken,
          credits: 5,
          costs: bought,
          provider: counting,
          creditValue: 10_000_000,
        })
        yield* Effect.promise(() =>
          fetch(`${url}${batchPath}`, {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json" },
            body: JSON.stringify({ urls: ["a.com", "b.com", "c.com"] }),
          }),
        )
        const { act, examine } = yield* visit(url, "/console/operator")
        yield* act((page) => signIn(page, adminToken))
        const shown = (name: string) =>
          act((page) =>
            page
              .locator(".tiles div")
              .filter({ has: page.getByText(name, { exact: true }) })
              .innerText(),
          )
        assert.match(yield* shown("Revenue"), /\$30\.00/)
        assert.match(yield* shown("Vendors’ cost"), /\$12\.50/)
        assert.match(yield* shown("Margin"), /\$17\.50\s+58 % of revenue/)
        const runningOut = yield* act((page) => tableOf(page, "About to run out").innerText())
        assert.match(runningOut, /acme\s+2\s+3\s+4 days/)
        yield* examine("overview with money")

        const chart = (page: Page) => page.getByRole("slider", { name: /^Sales and cost/ })
        yield* act((page) => chart(page).press("ArrowLeft"))
        const today = yield* act((page) => chart(page).getAttribute("aria-valuetext"))
        assert.match(
          today ?? "",
          /so far: Vendors’ cost \$12\.50, Margin \$17\.50, Credits charged 3$/,
        )
        yield* act((page) => chart(page).press("ArrowLeft"))
        const before = yield* act((page) => chart(page).getAttribute("aria-valuetext"))
        assert.match(before ?? "", /Margin \$0\.00, Credits charged 0$/)

        const file = yield* act((page) => downloaded(page, "CSV of By day"))
        assert.match(file.name, /^sales-\d{4}-\d\d-\d\d\.csv$/)
        assert.match(
          file.text,
          /Day,Credits charged,From cache,.*\r\n\d{4}-\d\d-\d\d,3,0,12\.5,30,17\.5\r\n/,
        )
      }),
    timeout,
  )
})
