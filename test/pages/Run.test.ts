import { assert, describe, it } from "@effect/vitest"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { type Change, readRun } from "../../src/pages/KeptRun.ts"
import { Run, type Surroundings } from "../../src/pages/Run.ts"

interface Request {
  readonly key: string | null
  readonly name: string | null
  readonly urls: ReadonlyArray<string>
}

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly retryAfter?: string
}

/** Answers a batch: every address except `localhost` has figures and costs `price` credits. */
const figuresOf = ({ urls }: Pick<Request, "urls">, price = 1): Answer => {
  const valid = urls.filter((url) => url !== "localhost")
  const failed = urls.filter((url) => url === "localhost")
  const data = {
    successUrls: valid.map((url) => ({ url, domainAuthority: 50, pageAuthority: 40 })),
    failedUrls: failed.map((url) => ({ url, reason: "INVALID_URL" })),
  }
  const creditsUsed = valid.length * price
  return { status: 200, body: { success: true, data, quota: { creditsUsed } } }
}

const refused = (status: number, retryAfter = "0"): Answer => ({
  status,
  body: { success: false, message: "No." },
  retryAfter,
})

type Check = (request: Request) => Answer | Promise<Answer>

interface Options {
  readonly credits?: () => number
  readonly isOnline?: () => boolean
  readonly patienceMs?: number
  readonly onChange?: (run: Run) => void
  readonly keep?: (change: Change) => void
}

/** Starts a run that `make` makes, and whose batches `check` answers. */
const started = (
  make: (surroundings: Surroundings) => Run,
  check: Check,
  { credits = () => 0, isOnline = () => true, keep, onChange, patienceMs = 60_000 }: Options = {},
) => {
  const requests: Array<Request> = []
  let notify = () => {}
  const answerTo = async ({ body, headers: given }: RequestInit): Promise<Answer> => {
    const headers = new Headers(given)
    const key = headers.get("x-api-key")
    if (typeof body !== "string") {
      return { status: 200, body: { success: true, data: { availableCredits: credits() } } }
    }
    const { urls } = JSON.parse(body)
    const request = { key, name: headers.get("idempotency-key")?.slice(1, -1) ?? null, urls }
    requests.push(request)
    return check(request)
  }
  const run: Run = make({
    client: (options) =>
      AuthorityMetrics({
        baseUrl: "http://service",
        patienceMs,
        fetch: async (_, request) => {
          const { body, retryAfter, status } = await answerTo(request)
          const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter }
          return new Response(JSON.stringify(body), { status, headers })
        },
        ...options,
      }),
    isOnline,
    keep: async (change) => keep?.(change),
    onChange: () => {
      onChange?.(run)
      notify()
    },
    onRead: () => {},
  })
  const rest = () =>
    new Promise<void>((resolve) => {
      notify = () => {
        if (!run.isActive) resolve()
      }
      notify()
    })
  run.go("am_key")
  return { run, requests, rest }
}

const start = (urls: ReadonlyArray<string>, check: Check, options?: Options) => {
  const list = { items: urls.map((url) => ({ url })), others: [] }
  return started((surroundings) => Run.of(list, surroundings), check, options)
}

const lost = () => Promise.reject(new TypeError("fetch failed"))

const sites = (count: number) => Array.from({ length: count }, (_, index) => `site-${index}.com`)

describe("a console run", () => {
  it("a console run sends batches of 50 URLs, each with its own idempotency key, and keeps its results in the order of the list", async () => {
    const urls = [...sites(60), "localhost", ...sites(59)]
    const { requests, rest, run } = start(urls, figuresOf)
    await rest()
    assert.deepStrictEqual(
      requests.map(({ urls }) => urls.length),
      [50, 50, 20],
    )
    assert.strictEqual(new Set(requests.map(({ name }) => name)).size, 3)
    assert.strictEqual(run.status, "done")
    assert.deepStrictEqual(
      run.rows.map(({ url }) => url),
      urls,
    )
    assert.deepStrictEqual([run.checked, run.failed, run.creditsUsed], [119, 1, 119])
    assert.strictEqual(run.rows[60]?.reason, "INVALID_URL")
    assert.isTrue(
      run.rows.every(({ figures, url }) => url === "localhost" || figures !== undefined),
    )
  })

  it("a console run has at most four batches in flight", async () => {
    let now = 0
    let most = 0
    const { rest } = start(sites(1000), async (request) => {
      most = Math.max(most, ++now)
      await Promise.resolve()
      now--
      return figuresOf(request)
    })
    await rest()
    assert.strictEqual(most, 4)
  })

  it("a console run never sends a URL that is too long for the API", async () => {
    const { requests, rest, run } = start([`${"a".repeat(1000)}.com`], figuresOf)
    await rest()
    assert.lengthOf(requests, 0)
    assert.strictEqual(run.status, "done")
    assert.strictEqual(run.rows[0]?.reason, "TOO_LONG")
  })

  it("a console run repeats a batch with the same idempotency key, and shows why it waits", async () => {
    const answers = [refused(429), refused(503)]
    const seen = new Set<string>()
    const { requests, rest, run } = start(
      sites(3),
      (request) => answers.shift() ?? figuresOf(request),
      {
        onChange: ({ delay, secondsLeft }) => {
          if (delay === undefined) return
          seen.add(`${delay.error._tag}: ${delay.error.message}`)
          assert.isUndefined(secondsLeft)
        },
      },
    )
    await rest()
    assert.strictEqual(run.status, "done")
    assert.deepStrictEqual([...seen], ["RateLimited: No.", "ServiceFailed: No."])
    assert.lengthOf(requests, 3)
    assert.strictEqual(new Set(requests.map(({ name }) => name)).size, 1)
    assert.deepStrictEqual([run.creditsUsed, run.delay], [3, undefined])
  })

  it("a console run that is stopped while it waits for a retry stops at once", async () => {
    const { requests, rest, run } = start(sites(3), () => refused(429, "50"), {
      onChange: (run) => {
        if (run.delay !== undefined && run.status === "running") run.stop()
      },
    })
    await rest()
    assert.deepStrictEqual([run.status, run.halt, requests.length], ["stopped", undefined, 1])
  })

  it("a console run halts when the server is unreachable, and resumes with the same idempotency keys", async () => {
    let answersLeft = 1
    const { requests, rest, run } = start(
      sites(120),
      (request) => (answersLeft-- > 0 ? figuresOf(request) : lost()),
      { patienceMs: 0 },
    )
    await rest()
    assert.strictEqual(run.status, "halted")
    assert.deepStrictEqual(run.halt, { kind: "server", answers: false })
    assert.deepStrictEqual([run.checked, run.waiting], [50, 70])
    const names = new Set(requests.map(({ name }) => name))

    answersLeft = Infinity
    run.go("am_key")
    await rest()
    assert.strictEqual(run.status, "done")
    assert.deepStrictEqual([run.checked, run.creditsUsed], [120, 120])
    assert.deepStrictEqual(new Set(requests.map(({ name }) => name)), names)
  })

  it("a console run on an offline device reports that it is offline, and does not retry", async () => {
    const { requests, rest, run } = start(sites(3), lost, { isOnline: () => false })
    await rest()
    assert.deepStrictEqual(run.halt, { kind: "offline" })
    assert.lengthOf(requests, 1)
  })

  it("a console run halts when its API key is refused, and resumes with another key", async () => {
    const { rest, run } = start(sites(120), (request) =>
      request.key === "am_other" ? figuresOf(request) : refused(401),
    )
    await rest()
    assert.deepStrictEqual(run.halt, { kind: "key" })
    run.go("am_other")
    await rest()
    assert.strictEqual(run.status, "done")
    assert.strictEqual(run.checked, 120)
  })

  it.each([1, 3])(
    "a console run at %d credits per URL spends the last credits, and resumes after a grant",
    async (price) => {
      let available = 130 * price + (price - 1)
      const { rest, run } = start(
        sites(500),
        (request) => {
          const cost = request.urls.length * price
          if (cost > available) return refused(402)
          available -= cost
          return figuresOf(request, price)
        },
        { credits: () => available },
      )
      await rest()
      assert.deepStrictEqual(run.halt, { kind: "credits", available: price - 1 })
      assert.deepStrictEqual([run.checked, run.waiting], [130, 370])
      assert.strictEqual(run.creditsUsed, 130 * price)
      available += 1000 * price
      run.go("am_key")
      await rest()
      assert.strictEqual(run.status, "done")
      assert.strictEqual(run.creditsUsed, 500 * price)
    },
  )

  it("a console run shows the service's message when the service refuses a request with a 422", async () => {
    const { rest, run } = start(sites(3), () => refused(422))
    await rest()
    assert.deepStrictEqual(run.halt, { kind: "refused", message: "No." })
  })

  it("a stopped console run sends no more batches, but keeps the answers to batches in flight", async () => {
    const answers: Array<() => void> = []
    const { requests, rest, run } = start(
      sites(500),
      (request) => new Promise((resolve) => answers.push(() => resolve(figuresOf(request)))),
    )
    while (answers.length < 4) await new Promise(setImmediate)
    run.stop()
    assert.strictEqual(run.status, "stopping")
    for (const answer of answers) answer()
    await rest()
    assert.lengthOf(requests, 4)
    assert.strictEqual(run.status, "stopped")
    assert.deepStrictEqual([run.checked, run.waiting], [200, 300])
  })

  it("a console run that is stopped twice aborts its batches, and repeats them when it resumes", async () => {
    let isHanging = true
    const { requests, rest, run } = start(sites(60), (request) =>
      isHanging ? new Promise(() => {}) : figuresOf(request),
    )
    while (requests.length < 2) await new Promise(setImmediate)
    run.stop()
    run.stop()
    await rest()
    assert.strictEqual(run.status, "stopped")
    assert.isUndefined(run.halt)
    isHanging = false
    run.go("am_key")
    await rest()
    assert.strictEqual(run.checked, 60)
    assert.strictEqual(new Set(requests.map(({ name }) => name)).size, 2)
  })

  it("a console run stores each idempotency key before it sends the batch, and continues after a reload", async () => {
    const urls = [...sites(120), `${"a".repeat(1000)}.com`]
    const kept = new Map<number, unknown>()
    let summary: unknown
    let available = 70
    const seen: Array<[name: string | null, urls: string, isKept: boolean]> = []
    const { requests, rest, run } = start(
      urls,
      (request) => {
        const number = Number(request.name?.split("-").at(-1))
        seen.push([request.name, request.urls.join(), kept.has(number)])
        if (request.urls.length > available) return refused(402)
        available -= request.urls.length
        return figuresOf(request)
      },
      {
        credits: () => available,
        keep: (change) => {
          const copy = structuredClone(change)
          summary = copy.summary
          for (const parcel of copy.parcels) kept.set(parcel.number, parcel)
          if (copy.removed !== undefined) kept.delete(copy.removed)
        },
      },
    )
    await rest()
    assert.deepInclude(run.halt, { kind: "credits" })
    assert.isTrue(seen.every(([, , isKept]) => isKept))

    const stored = readRun({ summary, parcels: [...kept.values()] })
    assert(stored !== undefined)
    const again: Array<[name: string | null, urls: string]> = []
    const { rest: end, run: continued } = started(
      (surroundings) => Run.from(stored, surroundings),
      (request) => {
        again.push([request.name, request.urls.join()])
        return figuresOf(request)
      },
    )
    await end()
    assert.deepStrictEqual(
      continued.rows.map(({ url }) => url),
      urls,
    )
    assert.deepStrictEqual(
      [continued.status, continued.checked, continued.failed, continued.creditsUsed],
      ["done", 120, 1, 120],
    )
    assert.strictEqual(continued.creditsOfVisit, 50)
    // A name is never used for other addresses.
    const urlsOf = new Map(requests.map(({ name, urls }) => [name, urls.join()]))
    for (const [name, urls] of again) assert.strictEqual(urlsOf.get(name) ?? urls, urls)
  })

  it("a stored console run is not loaded if rows are missing or figures are invalid", () => {
    const summary = {
      id: "ab",
      startedAt: 0,
      total: 2,
      checked: 1,
      failed: 0,
      creditsUsed: 1,
      others: [],
    }
    const first = {
      place: 1,
      url: "a.com",
      figures: { domainAuthority: 1, pageAuthority: 2 },
    }
    const second = { place: 2, url: "b.com" }
    const read = (...rows: ReadonlyArray<unknown>) =>
      readRun({ summary, parcels: [{ number: 1, rows }] })
    assert.isDefined(read(first, second))
    assert.isUndefined(read(first))
    assert.isUndefined(read(first, first))
    assert.isUndefined(read(first, { ...second, place: 3 }))
    assert.isUndefined(read({ ...first, figures: { domainAuthority: "1" } }, second))
    assert.isUndefined(readRun({ summary: undefined, parcels: [] }))
  })
})
