import { assert, describe, it } from "@effect/vitest"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { batchPath, keyPath, previewPath } from "../../src/contract/Wire.ts"
import { ListRun, type RunJournal, TakenOver } from "../../src/pages/ListRun.ts"
import type { Batch, Entry } from "../../src/run/Journal.ts"

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Answers a preview or a batch: every address except `localhost` is valid, and costs 1 credit. */
const answerTo = (path: string, urls: ReadonlyArray<string>): Answer => {
  const valid = urls.filter((url) => url !== "localhost")
  const quota = { availableCredits: 1000, maxCredits: valid.length, affordable: true }
  if (path === batchPath) {
    const figures = valid.map((url) => ({ url, domainAuthority: 50, pageAuthority: 40 }))
    const failedUrls = urls.filter((url) => url === "localhost").map(failed)
    const data = { successUrls: figures, failedUrls }
    return { status: 200, body: { success: true, data, quota: { creditsUsed: valid.length } } }
  }
  const entries = urls.map((url) =>
    url === "localhost"
      ? { url, valid: false, problem: "it has no public suffix" }
      : { url, valid: true, target: url.toLowerCase(), duplicateOf: null, known: false },
  )
  const counts = { total: urls.length, valid: valid.length, invalid: urls.length - valid.length }
  const summary = { ...counts, duplicates: 0, known: 0, toBuy: valid.length }
  return { status: 200, body: { success: true, data: { entries, summary }, quota } }
}

const theKey = {
  id: "a",
  label: null,
  account: "acme",
  scopes: ["check", "read"],
  expiresAt: null,
  budget: null,
}

const failed = (url: string) => ({ url, reason: "INVALID_URL" })

const refused = (status: number): Answer => ({ status, body: { success: false, message: "No." } })

const memory = (claims: Array<number> = []) => {
  const entries: Array<Entry> = []
  const batches = new Map<string, Batch>()
  const journal: RunJournal = {
    isKept: true,
    own: async () => {},
    claim: async ({ list, summary }) => void claims.push(list.items.length, summary.total),
    read: async () => ({ entries, batches: [...batches.values()] }),
    keepEntries: async (fresh) => void entries.push(...fresh),
    keepBatch: async (batch) => void batches.set(batch.key, batch),
    removeBatch: async (key) => void batches.delete(key),
  }
  return journal
}

interface Service {
  readonly answer?: (path: string, urls: ReadonlyArray<string>, key: string) => Answer | undefined
  readonly credits?: () => number
  readonly isOnline?: () => boolean
  readonly journal?: RunJournal
}

/** A run of a list, whose service has the given answers. */
const make = async (
  urls: ReadonlyArray<string>,
  { answer, credits = () => 1000, isOnline = () => true, journal = memory() }: Service = {},
) => {
  const sent: Array<number> = []
  let spent = 0
  const respond = (path: string, body: unknown, key: string): Answer => {
    if (typeof body !== "string") {
      const data = path === keyPath ? theKey : { availableCredits: credits() }
      return answer?.(path, [], key) ?? { status: 200, body: { success: true, data } }
    }
    const { urls } = JSON.parse(body)
    if (path === batchPath) sent.push(urls.length)
    return answer?.(path, urls, key) ?? answerTo(path, urls)
  }
  const list = { items: urls.map((url) => ({ url, others: [] })) }
  const run = await ListRun.open({ id: "a", name: "list", startedAt: 0 }, list, {
    journal,
    isOnline,
    onSpent: (credits) => (spent += credits),
    connect: (apiKey) => (onRetry) =>
      AuthorityMetrics({
        apiKey,
        baseUrl: "http://service",
        patienceMs: 0,
        onRetry,
        fetch: async (url, { body }) => {
          const { body: text, status } = respond(new URL(url).pathname, body, apiKey)
          return new Response(JSON.stringify(text), { status })
        },
      }),
  })
  return { run, list, sent, spent: () => spent }
}

const payer = { key: "am_key", account: "acme" }

const sites = (count: number) => Array.from({ length: count }, (_, index) => `site-${index}.com`)

const lost = (): never => {
  throw new TypeError("fetch failed")
}

describe("a console run", () => {
  it("waits for a decision between its plan and its first batch", async () => {
    const { run, sent, spent } = await make([...sites(60), "localhost", "SITE-1.com"])
    const plan = await run.prepare(payer)
    assert.deepInclude(plan, { total: 62, valid: 61, invalid: 1, duplicates: 1, maxCredits: 60 })
    assert.deepStrictEqual([run.status, sent.length, run.failed], ["asking", 0, 1])
    assert.strictEqual(run.rows[61]?.sameAs, 2)
    await run.go()
    assert.deepStrictEqual([run.status, sent, spent()], ["done", [50, 10], 60])
    assert.deepStrictEqual([run.checked, run.failed, run.creditsUsed], [61, 1, 60])
    assert.strictEqual(run.rows[60]?.reason, "INVALID_URL")
    assert.strictEqual(run.rows[61]?.figures?.url, "SITE-1.com")
    assert.deepInclude(run.summary, {
      total: 62,
      checked: 61,
      failed: 1,
      keyStart: "am_key",
      account: "acme",
    })
  })

  it("sends nothing when the plan is left, and nothing but what is new of a changed list", async () => {
    const { list, run, sent } = await make(sites(60))
    await run.prepare(payer)
    run.leave()
    await run.go()
    assert.deepStrictEqual([run.status, sent.length], ["stopped", 0])
    await run.prepare(payer)
    await run.go()
    const items = [...list.items.slice(20), { url: "new.com", others: [] }]
    const plan = await run.prepare(payer, { items })
    assert.deepStrictEqual([plan?.answered, plan?.maxCredits], [40, 1])
    await run.go()
    assert.deepStrictEqual([run.status, run.total, run.creditsUsed], ["done", 41, 61])
  })

  it("stores nothing before its start, and keeps its former list when the plan is left", async () => {
    const claims: Array<number> = []
    const { list, run } = await make(sites(100), { journal: memory(claims) })
    await run.prepare(payer)
    assert.deepStrictEqual(claims, [])
    await run.go()
    assert.deepStrictEqual(claims, [100, 100])
    const shorter = { items: list.items.slice(0, 60) }
    const plan = await run.prepare(payer, shorter)
    assert.deepStrictEqual([plan?.answered, run.total], [60, 60])
    run.leave()
    assert.deepStrictEqual([run.total, run.checked, run.rows.length], [100, 100, 100])
    await run.prepare(payer, shorter)
    await run.keep()
    assert.deepStrictEqual(claims.slice(0, 3), [100, 100, 100])
    await run.go()
    assert.deepStrictEqual([claims.slice(4), run.total], [[60, 60], 60])
  })

  it("sends nothing when another window takes the run between its plan and its start", async () => {
    const journal = { ...memory(), claim: () => Promise.reject(new TakenOver()) }
    const { run, sent } = await make(sites(3), { journal })
    await run.prepare(payer)
    await run.go()
    assert.deepStrictEqual([run.halt, sent.length], [{ kind: "window" }, 0])
  })

  it("asks nobody for a finished list, and names the price of another check", async () => {
    const { run, sent } = await make([...sites(3), "localhost"])
    await run.prepare(payer)
    await run.go()
    const plan = await run.prepare(payer)
    assert.deepStrictEqual([plan?.maxCredits, run.priceOfAll, sent.length], [0, 3, 1])
  })

  it("stops its plan at once", async () => {
    const { run } = await make(sites(3), {
      answer: (path) => {
        if (path === previewPath) run.stop()
        return undefined
      },
    })
    assert.isUndefined(await run.prepare(payer))
    assert.deepStrictEqual([run.status, run.halt], ["stopped", undefined])
  })

  it.each([
    ["its key is refused", () => refused(401), { kind: "key" }],
    ["the service fails", () => refused(500), { kind: "server", answers: true }],
    ["the service is unreachable", lost, { kind: "server", answers: false }],
    ["the service refuses a request", () => refused(422), { kind: "refused", message: "No." }],
  ] as const)("halts when %s, in its plan or later, and goes on", async (_, fail, halt) => {
    for (const failing of [previewPath, batchPath]) {
      let isFailing = true
      const { run } = await make(sites(3), {
        answer: (path) => (isFailing && path === failing ? fail() : undefined),
      })
      if ((await run.prepare(payer)) !== undefined) await run.go()
      assert.deepStrictEqual([run.status, run.halt], ["halted", halt])
      isFailing = false
      await run.prepare({ key: "am_other", account: "acme" })
      await run.go()
      assert.deepStrictEqual([run.status, run.halt, run.creditsUsed], ["done", undefined, 3])
    }
  })

  it("reports that the device is offline, and does not retry", async () => {
    const { run, sent } = await make(sites(3), {
      answer: (path) => (path === batchPath ? lost() : undefined),
      isOnline: () => false,
    })
    await run.prepare(payer)
    await run.go()
    assert.deepStrictEqual([run.halt, sent.length], [{ kind: "offline" }, 1])
  })

  it("spends the last credits, and says what the account has left", async () => {
    let available = 70
    const { run } = await make(sites(120), {
      credits: () => available,
      answer: (path, { length }) => {
        if (path !== batchPath) return undefined
        if (length > available) return refused(402)
        available -= length
        return undefined
      },
    })
    await run.prepare(payer)
    await run.go()
    assert.deepStrictEqual(run.halt, { kind: "credits", available: 0 })
    assert.deepStrictEqual([run.checked, run.waiting, run.creditsUsed], [70, 50, 70])
  })

  it("shows the refusal of a budget that is spent, while the account has credits", async () => {
    const { run } = await make(sites(3), {
      answer: (path) => (path === batchPath ? refused(402) : undefined),
    })
    await run.prepare(payer)
    await run.go()
    assert.deepStrictEqual(run.halt, { kind: "refused", message: "No." })
  })

  it("stops when another window has taken the run, and when its journal cannot be read", async () => {
    const taken = { ...memory(), keepBatch: () => Promise.reject(new TakenOver()) }
    const { run, sent } = await make(sites(3), { journal: taken })
    await run.prepare(payer)
    await run.go()
    assert.deepStrictEqual([run.halt, sent.length], [{ kind: "window" }, 0])
    const unreadable = memory()
    const other = await make(sites(3), { journal: unreadable })
    Object.assign(unreadable, { read: () => Promise.reject(new Error("damaged")) })
    await other.run.prepare(payer)
    assert.deepStrictEqual(other.run.halt, { kind: "store" })
  })
})
