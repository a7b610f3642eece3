/** Tests the spending gate: what an agent can spend without asking its user, and what it cannot. */
import { assert, describe, it } from "@effect/vitest"
import { isInputRequiredResult } from "@modelcontextprotocol/client"
import { vi } from "vitest"
import { resultOf, start, urlsOf } from "./agentClient.ts"

const dear = urlsOf(5)
const elevenMinutesMs = 660_000

/** Runs `run` with the system's clock moved forward by `ms`. */
const later = async <A>(ms: number, run: () => Promise<A>) => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms })
  try {
    return await run()
  } finally {
    vi.useRealTimers()
  }
}

describe("an agent's client that can ask its user", () => {
  it("an agent asks its user with the price and the balance, and checks once the user agrees", async () => {
    await using service = await start()
    await using agent = await service.connect({ user: "accept" })
    const result = await agent.check(dear)
    assert.strictEqual(result.creditsUsed, 5)
    assert.deepStrictEqual(agent.asked, [
      "Check 5 URLs for at most 5 credits? The account has 1,000 credits. 0 are known, 5 must be bought.",
    ])
    assert.strictEqual(await service.available(), 995)
  })

  it.each(["decline", "cancel"] as const)("charges nothing after %s", async (user) => {
    await using service = await start()
    await using agent = await service.connect({ user })
    assert.strictEqual((await agent.check(dear)).code, "declined")
    assert.strictEqual(await service.available(), 1000)
  })

  it("an agent asks its user whatever max_credits is, but not about a check that would be refused anyway", async () => {
    await using service = await start()
    await using agent = await service.connect({ user: "accept" })
    assert.strictEqual((await agent.check(dear, { max_credits: 4 })).code, "over_max_credits")
    assert.strictEqual(agent.asked.length, 0)
    assert.strictEqual((await agent.check(dear, { max_credits: 100 })).creditsUsed, 5)
    assert.strictEqual(agent.asked.length, 1)
  })

  it("a user's agreement pays for one check, of these targets only, within ten minutes", async () => {
    await using service = await start()
    await using agent = await service.connect({ user: "accept", isManual: true })
    const send = (urls: ReadonlyArray<string>, more: object) =>
      agent.client.request(
        {
          method: "tools/call",
          params: { name: "check_authority", arguments: { urls: [...urls] }, ...more },
        },
        { allowInputRequired: true },
      )
    const asked: unknown = await send(dear, {})
    assert(isInputRequiredResult(asked))
    const { requestState = "" } = asked
    const answer = async (urls: ReadonlyArray<string>, state: string) =>
      resultOf(
        await send(urls, {
          inputResponses: { approve: { action: "accept", content: {} } },
          requestState: state,
        }),
      )
    const forged = `${requestState.slice(0, -4)}AAAA`
    assert.strictEqual((await answer(dear, forged)).code, "approval_invalid")
    assert.strictEqual((await answer(urlsOf(6), requestState)).code, "approval_invalid")
    const late = await later(elevenMinutesMs, () => answer(dear, requestState))
    assert.strictEqual(late.code, "approval_expired")
    assert.strictEqual(
      (await agent.check(dear, { approval: requestState })).code,
      "approval_invalid",
    )
    assert.strictEqual(await service.available(), 1000)
    assert.strictEqual((await answer(dear, requestState)).creditsUsed, 5)
    assert.strictEqual((await answer(dear, requestState)).creditsUsed, 0)
    assert.strictEqual(await service.available(), 995)
  })
})

describe.each([
  ["2026 without questions", "auto"],
  ["2025", "legacy"],
] as const)("a client of %s", (_, mode) => {
  it("a quote pays for one check, for this account only, within ten minutes", async () => {
    await using service = await start()
    await using agent = await service.connect({ mode })
    const needed = await agent.check(dear)
    assert.strictEqual(needed.code, "approval_needed")
    assert.strictEqual(needed.maxCredits, 5)
    const { quote: approval = "" } = needed
    const key = await service.newKey({}, "other")
    await using stranger = await service.connect({ mode, key })
    const forged = { approval: approval.replace(/^(v1\..{20})./, "$1_") }
    for (const [result, code] of [
      [await agent.check(dear, forged), "approval_invalid"],
      [await agent.check(dear, { approval: "yes" }), "approval_invalid"],
      [await agent.check(urlsOf(6), { approval }), "approval_invalid"],
      [await agent.check(dear, { approval, name: "another" }), "approval_invalid"],
      [await stranger.check(dear, { approval }), "approval_invalid"],
      [await later(elevenMinutesMs, () => agent.check(dear, { approval })), "approval_expired"],
    ] as const) {
      assert.strictEqual(result.code, code)
    }
    assert.strictEqual(await service.available(), 1000)
    assert.strictEqual((await agent.check(dear, { approval })).creditsUsed, 5)
    const again = await agent.check(dear, { approval })
    assert.deepStrictEqual([again.successUrls?.length, again.creditsUsed], [5, 0])
    assert.strictEqual(await service.available(), 995)
  })

  it("simultaneous calls with one quote pay once", async () => {
    await using service = await start()
    await using agent = await service.connect({ mode })
    const { quote } = await agent.check(dear)
    const results = await Promise.all(
      Array.from({ length: 5 }, () => agent.check(dear, { approval: quote })),
    )
    assert.include([undefined, "in_progress"], results[0]?.code)
    assert.strictEqual(await service.available(), 995)
  })
})
