import { assert, describe, it } from "@effect/vitest"
import type { Answer, Batch, ApiClient } from "../../src/pages/ApiClient.ts"
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

/** Makes a run whose batches `check` answers, and whose waits end at once. */
const start = (
  urls: ReadonlyArray<string>,
  check: (request: Request) => Answer<Batch> | Promise<Answer<Batch>>,
  options: {
    readonly credits?: () => number
    readonly isOnline?: () => boolean
    readonly onWait?: (run: Run) => void
  } = {},
) => {
  const requests: Array<Request> = []
  const waits: Array<number> = []
  let notify = () => {}
  const run: Run = new Run(urls, {
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
      options.onWait?.(run)
    },
    onChange: () => notify(),
  })
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

const sites = (count: number) => Array.from({ length: count }, (_, index) => `site-${index}.com`)

describe("a run", () => {
  it("sends the list in batches of fifty, each with its own idempotency key, and keeps its order", async () => {
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

  it("has at most four batches in flight", async () => {
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

  it("never sends a URL that is too long for the API", async () => {
    const { requests, rest, run } = start([`${"a".repeat(1000)}.com`], figuresOf)
    await rest()
    assert.lengthOf(requests, 0)
    assert.strictEqual(run.status, "done")
    assert.strictEqual(run.rows[0]?.reason, "TOO_LONG")
  })

  it.each([
    ["nothing", lost] as const,
    ["a 500", refused(500)] as const,
    ["a 409", refused(409)] as const,
  ])("sends a batch again with the same idempotency key after %s", async (_, first) => {
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

  it("waits as long as the Retry-After of a rate limit says", async () => {
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

  it("waits for an earlier attempt as long as the service says, and shows no estimate meanwhile", async () => {
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
    const delay = { kind: "in progress", seconds: 2 }
    assert.deepStrictEqual(seen, [delay, undefined, delay, undefined, delay, undefined])
    assert.lengthOf(requests, 5)
    assert.isUndefined(run.delay)
  })

  it("stops when the server does not return, keeps its results, and continues with the same keys", async () => {
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

  it("reports that the device is offline, and does not retry", async () => {
    const { requests, rest, run } = start(sites(3), () => lost, { isOnline: () => false })
    await rest()
    assert.deepStrictEqual(run.halt, { kind: "offline" })
    assert.lengthOf(requests, 1)
  })

  it("stops at once when the API key is refused, and continues with another", async () => {
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
    "spends the last credits at a price of %d, reports the rest, and continues after a grant",
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

  it("shows the service's message when it refuses a request for another reason", async () => {
    const { rest, run } = start(sites(3), () => refused(422))
    await rest()
    assert.deepStrictEqual(run.halt, { kind: "refused", message: "No." })
  })

  it("when stopped, sends no more batches but keeps the answers to those in flight", async () => {
    const answers: Array<() => void> = []
    const { requests, rest, run } = start(
      sites(500),
      (request) => new Promise((resolve) => answers.push(() => resolve(figuresOf(request)))),
    )
    run.stop()
    assert.strictEqual(run.status, "stopping")
    for (const answer of answers) answer()
    await rest()
    assert.lengthOf(requests, 4)
    assert.strictEqual(run.status, "stopped")
    assert.deepStrictEqual([run.checked, run.waiting], [200, 300])
  })

  it("when stopped twice, aborts the batches in flight, and sends them again when continued", async () => {
    let isHanging = true
    const { requests, rest, run } = start(sites(60), (request) =>
      isHanging
        ? new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(lost)))
        : figuresOf(request),
    )
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
})
