import { assert, describe, it } from "@effect/vitest"
import type { Answer, Batch, ApiClient } from "../../src/pages/ApiClient.ts"
import { type Change, type KeptRun, readRun } from "../../src/pages/KeptRun.ts"
import { Run } from "../../src/pages/Run.ts"

type Request = Parameters<ApiClient["check"]>[0]

/** Answers a batch: every address except `localhost` has figures and costs one credit. */
const figuresOf = ({ urls }: Pick<Request, "urls">): Answer<Batch> => {
  const valid = urls.filter((url) => url !== "localhost")
  return {
    _tag: "Answered",
    value: {
      success: true,
      data: {
        successUrls: valid.map((url) => ({ url, domainAuthority: 50, pageAuthority: 40 })),
        failedUrls: urls
          .filter((url) => url === "localhost")
          .map((url) => ({ url, reason: "INVALID_URL" as const })),
      },
      quota: { creditsUsed: valid.length },
    },
  }
}

const refused = (status: number, retryAfterMs?: number): Answer<never> => ({
  _tag: "Refused",
  status,
  message: "No.",
  retryAfterMs,
})

const lost: Answer<never> = { _tag: "Lost" }

/** Starts a run whose batches `check` answers and whose waits end immediately. */
const start = (
  urls: ReadonlyArray<string>,
  check: (request: Request) => Answer<Batch> | Promise<Answer<Batch>>,
  options: {
    readonly credits?: () => number
    readonly isOnline?: () => boolean
    readonly onKeep?: (change: Change) => void
    readonly onWait?: (run: Run) => unknown
  } = {},
) => {
  const requests: Array<Request> = []
  const waits: Array<number> = []
  let notify = () => {}
  const run: Run = Run.of(
    { items: urls.map((url) => ({ url })), others: [] },
    {
      api: {
        credits: async () => ({ _tag: "Answered", value: options.credits?.() ?? 0 }),
        check: async (request) => {
          requests.push(request)
          return check(request)
        },
      },
      isOnline: options.isOnline ?? (() => true),
      wait: async (ms) => {
        waits.push(ms)
        await options.onWait?.(run)
      },
      now: () => 0,
      keep: async (change) => {
        options.onKeep?.(change)
      },
      onChange: () => notify(),
      onRead: () => {},
    },
  )
  const rest = () =>
    new Promise<void>((resolve) => {
      notify = () => {
        if (!run.isActive) resolve()
      }
      notify()
    })
  run.go("am_key")
  return { run, requests, waits, rest }
}

/** Continues a kept run to its end. */
const continueFrom = async (
  kept: KeptRun,
  check: (request: Request) => Answer<Batch>,
): Promise<{ readonly run: Run }> => {
  let notify = () => {}
  const run: Run = Run.from(kept, {
    api: {
      credits: () => Promise.reject(),
      check: async (request) => check(request),
    },
    isOnline: () => true,
    wait: () => Promise.resolve(),
    now: () => 0,
    keep: () => Promise.resolve(),
    onChange: () => notify(),
    onRead: () => {},
  })
  await new Promise<void>((resolve) => {
    notify = () => {
      if (!run.isActive) resolve()
    }
    run.go("am_key")
  })
  return { run }
}

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

  it.each([
    ["a lost answer", lost] as const,
    ["a 500", refused(500)] as const,
    ["a 409", refused(409)] as const,
  ])("a console run repeats a batch with the same idempotency key after %s", async (_, first) => {
    let isFirst = true
    const { requests, rest, run } = start(sites(3), (request) => {
      const answer = isFirst ? first : figuresOf(request)
      isFirst = false
      return answer
    })
    await rest()
    assert.strictEqual(run.status, "done")
    assert.lengthOf(requests, 2)
    assert.strictEqual(requests[0]?.name, requests[1]?.name)
    assert.strictEqual(run.creditsUsed, 3)
  })

  it("a console run waits for the Retry-After of a rate limit", async () => {
    let isFirst = true
    const { rest, run, waits } = start(sites(3), (request) => {
      const answer = isFirst ? refused(429, 12_000) : figuresOf(request)
      isFirst = false
      return answer
    })
    await rest()
    assert.strictEqual(run.status, "done")
    assert.deepStrictEqual(waits, [12_000])
  })

  it("a console run waits for the Retry-After of a 503, and shows the service's message", async () => {
    let isFirst = true
    const seen: Array<unknown> = []
    const { rest, run, waits } = start(
      sites(3),
      (request) => {
        const answer = isFirst ? refused(503, 12_000) : figuresOf(request)
        isFirst = false
        return answer
      },
      { onWait: (run) => seen.push(run.delay) },
    )
    await rest()
    assert.strictEqual(run.status, "done")
    assert.deepStrictEqual(waits, [12_000])
    assert.deepStrictEqual(seen, [
      { kind: "server", attempt: 1, of: 5, message: "No.", until: 12_000 },
    ])
  })

  it("while one batch waits for a retry, a console run shows that wait even after another batch is answered", async () => {
    const isFirst = new Set([50, 10])
    let goOn = () => {}
    const seen: Array<unknown> = []
    const { rest, run } = start(
      sites(60),
      async (request) => {
        const size = request.urls.length
        if (size === 10) await new Promise<void>((resolve) => (goOn = resolve))
        return isFirst.delete(size) && size === 50 ? refused(429, 9000) : figuresOf(request)
      },
      {
        onWait: async (run) => {
          goOn()
          while (run.checked === 0) await Promise.resolve()
          seen.push(run.delay)
        },
      },
    )
    await rest()
    assert.strictEqual(run.status, "done")
    assert.deepStrictEqual(seen, [{ kind: "rate limit", until: 9000 }])
  })

  it("a console run waits for the Retry-After of a 409, and shows no time estimate meanwhile", async () => {
    let tries = 0
    const seen: Array<unknown> = []
    const { requests, rest, run, waits } = start(
      sites(60),
      (request) =>
        request.urls.length === 50 || tries++ === 3 ? figuresOf(request) : refused(409, 2000),
      { onWait: (run) => seen.push(run.delay, run.secondsLeft) },
    )
    await rest()
    assert.strictEqual(run.status, "done")
    assert.deepStrictEqual(waits, [2000, 2000, 2000])
    const delay = { kind: "in progress", until: 2000 }
    assert.deepStrictEqual(seen, [delay, undefined, delay, undefined, delay, undefined])
    assert.lengthOf(requests, 5)
    assert.isUndefined(run.delay)
  })

  it("a console run halts when the server is unreachable, and resumes with the same idempotency keys", async () => {
    let answersLeft = 1
    const { requests, rest, run } = start(sites(120), (request) =>
      answersLeft-- > 0 ? figuresOf(request) : lost,
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
    const { requests, rest, run } = start(sites(3), () => lost, { isOnline: () => false })
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
          const answer = figuresOf(request)
          return answer._tag === "Answered"
            ? { ...answer, value: { ...answer.value, quota: { creditsUsed: cost } } }
            : answer
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
    while (answers.length < 4) await Promise.resolve()
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
      isHanging
        ? new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(lost)))
        : figuresOf(request),
    )
    while (requests.length < 2) await Promise.resolve()
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
    const seen: Array<[name: string, urls: string, isKept: boolean]> = []
    const { requests, rest, run } = start(
      urls,
      (request) => {
        const number = Number(request.name.split("-")[1])
        seen.push([request.name, request.urls.join(), kept.has(number)])
        if (request.urls.length > available) return refused(402)
        available -= request.urls.length
        return figuresOf(request)
      },
      {
        credits: () => available,
        onKeep: (change) => {
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
    const again: Array<[name: string, urls: string]> = []
    const { run: continued } = await continueFrom(stored, (request) => {
      again.push([request.name, request.urls.join()])
      return figuresOf(request)
    })
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
    assert.isUndefined(read({ ...first, figures: { domainAuthority: 101 } }, second))
    assert.isUndefined(readRun({ summary: undefined, parcels: [] }))
  })
})
