/** Tests the tools for agents over real HTTP, with the client of the MCP SDK. */
import { assert, describe, it } from "@effect/vitest"
import { revisions, start, urlsOf } from "./agentClient.ts"

describe.each(revisions)("an agent of %s", (revision, mode) => {
  it("an agent gets five tools, which take at most 1,400 tokens of its prompt", async () => {
    await using service = await start()
    await using agent = await service.connect({ mode })
    assert.strictEqual(agent.client.getNegotiatedProtocolVersion(), revision)
    const { tools } = await agent.client.listTools()
    assert.deepStrictEqual(
      tools.map(({ name }) => name),
      ["check_authority", "preview_check", "get_balance", "get_history", "get_usage"],
    )
    assert.isBelow(JSON.stringify(tools).length / 4, 1400)
  })

  it("an agent checks URLs and pays only for the successful ones", async () => {
    await using service = await start()
    await using agent = await service.connect({ mode })
    const result = await agent.check(["example.com", "localhost", "example.org"])
    assert.deepStrictEqual(
      result.successUrls?.map(({ url }) => url),
      ["example.com", "example.org"],
    )
    assert.deepStrictEqual(result.failedUrls, [{ url: "localhost", reason: "INVALID_URL" }])
    assert.strictEqual(result.creditsUsed, 2)
    assert.strictEqual(await service.available(), 998)
  })

  it("an agent gets the balance, usage, history and a preview free of charge", async () => {
    await using service = await start()
    await using agent = await service.connect({ mode })
    for (const [name, input] of [
      ["preview_check", { urls: urlsOf(60) }],
      ["get_balance", {}],
      ["get_history", { url: "example.com", limit: 5 }],
      ["get_usage", { since: "2026-11-01", by: "key" }],
    ] as const) {
      assert.isFalse((await agent.call(name, input)).isError, name)
    }
    assert.strictEqual(await service.available(), 1000)
  })

  it("an agent gets a code and a sentence for each refusal", async () => {
    await using service = await start({ credits: 2 })
    await using agent = await service.connect({ mode })
    const budget = await service.newKey({ budget: "1/total" })
    await using poor = await service.connect({ mode, key: budget })
    for (const [result, code, message] of [
      [await agent.check([]), "invalid_request", /^urls: .* at least 1/],
      [await agent.check(["a".repeat(1001)]), "invalid_request", /^urls\.0: /],
      [await agent.check(urlsOf(501)), "invalid_request", /^urls: .* at most 500/],
      [
        await agent.call("get_history", { url: "localhost" }),
        "invalid_request",
        /cannot be checked/,
      ],
      [await agent.call("get_usage", { since: "x" }), "invalid_request", /^since: /],
      [await agent.check(urlsOf(3)), "not_enough_credits", /needs 3 credits and the account has 2/],
      [await poor.check(urlsOf(2)), "budget_spent", /the budget of its key has 1 left/],
      [await agent.check(urlsOf(3), { max_credits: 2 }), "over_max_credits", /may cost 3 credits/],
    ] as const) {
      assert.isTrue(result.isError)
      assert.strictEqual(result.code, code)
      assert.match(result.message ?? "", message)
    }
    assert.strictEqual(await service.available(), 2)
  })

  it("an agent's repeated call with the same name is free, and a different call with that name is refused", async () => {
    await using service = await start()
    await using agent = await service.connect({ mode })
    const named = { name: "list 7" }
    assert.strictEqual((await agent.check(urlsOf(3), named)).creditsUsed, 3)
    const repeat = await agent.check(urlsOf(3), named)
    assert.deepStrictEqual([repeat.successUrls?.length, repeat.creditsUsed], [3, 0])
    assert.strictEqual((await agent.check(urlsOf(2), named)).code, "name_reused")
    assert.strictEqual(await service.available(), 997)
  })

  it("an agent gets what was checked before the credits ran out, and buys the rest later", async () => {
    await using service = await start({
      credits: 60,
      settings: { AUTHORITY_MCP_APPROVE_ABOVE: "500" },
    })
    await using agent = await service.connect({ mode })
    const result = await agent.check(urlsOf(120), { name: "all" })
    assert.isFalse(result.isError)
    assert.deepStrictEqual([result.successUrls?.length, result.creditsUsed], [50, 50])
    assert.strictEqual(result.unchecked?.code, "not_enough_credits")
    assert.deepStrictEqual(result.unchecked?.urls, urlsOf(120).slice(50))
    assert.strictEqual((await agent.check(urlsOf(120), { name: "all" })).creditsUsed, 0)
    assert.strictEqual(await service.available(), 10)
  })

  it("an agent spends exactly its budget in simultaneous calls", async () => {
    await using service = await start()
    const key = await service.newKey({ budget: "10/total" })
    await using agent = await service.connect({ mode, key })
    const lists = ["a", "b", "c", "d", "e"].map((name) => urlsOf(3, name))
    const call = async (urls: ReadonlyArray<string>): Promise<number> => {
      const { code, creditsUsed = 0 } = await agent.check(urls)
      return code === "budget_held" ? call(urls) : creditsUsed
    }
    const spent = await Promise.all(lists.map(call))
    const last = await agent.check(urlsOf(1, "f"))
    assert.strictEqual(
      spent.reduce((sum, one) => sum + one, last.creditsUsed ?? 0),
      10,
    )
    assert.strictEqual((await agent.check(urlsOf(1, "g"))).code, "budget_spent")
    assert.strictEqual(await service.available(), 990)
  })

  it("an agent may do only what the scopes of its key allow", async () => {
    await using service = await start()
    const [reading, checking] = [
      await service.newKey({ scopes: ["read"] }),
      await service.newKey({ scopes: ["check"] }),
    ]
    await using reader = await service.connect({ mode, key: reading })
    await using checker = await service.connect({ mode, key: checking })
    assert.strictEqual((await reader.check(urlsOf(1))).code, "forbidden")
    assert.isFalse((await reader.call("get_balance", {})).isError)
    assert.isFalse((await checker.check(urlsOf(1))).isError)
    assert.strictEqual((await checker.call("get_balance", {})).code, "forbidden")
  })

  it("an agent over its account's rate limit learns when to try again", async () => {
    await using service = await start({ settings: { AUTHORITY_RATE_LIMIT: "1/1h" } })
    await using agent = await service.connect({ mode })
    assert.isFalse((await agent.check(urlsOf(1))).isError)
    const refused = await agent.check(urlsOf(1))
    assert.strictEqual(refused.code, "rate_limited")
    assert.isAbove(refused.retryAfterSeconds ?? 0, 3000)
  })
})
