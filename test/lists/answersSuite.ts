/**
 * Checks what each store of answers promises. It needs no test library, so that it runs in a web
 * page too. `open` opens the same store once more, as another window or process does.
 */
import type { Answer, Answers, Batch, Payer } from "../../src/lists/Answers.ts"

type Open = () => Promise<Answers>

export const answersSuite: Readonly<Record<string, (open: Open) => Promise<void>>> = {
  "finds an answer by its target and by its spelling, and for its payer alone": async (open) => {
    const store = await open()
    const one = answerOf("one.example.com", 5, { url: "HTTP://one.example.com/#top" })
    await store.keep(acme, "k", [one, answerOf("two.example.com", 6)])
    const again = await open()
    same(await again.find(acme, ["one.example.com", "HTTP://one.example.com/#top"]), [one])
    same((await again.find(acme, ["three.example.com", "two.example.com"])).length, 1)
    same(await again.find({ ...acme, account: "other" }, ["one.example.com"]), [])
    same(await again.find({ ...acme, service: "https://b.example" }, ["one.example.com"]), [])
    same(await again.find(acme, []), [])
  },
  "keeps the latest answer of a target": async (open) => {
    const store = await open()
    await store.keep(acme, "k", [answerOf("one.example.com", 5)])
    await store.keep(acme, "k", [answerOf("one.example.com", 4, { url: "old" })])
    same(await store.find(acme, ["one.example.com"]), [answerOf("one.example.com", 5)])
    const unknown = { url: "new", reason: "PROVIDER_ERROR", cause: "unknown" } as const
    const later: Answer = { target: "one.example.com", outcome: unknown, at: 6 }
    await store.keep(acme, "k", [later])
    same(await (await open()).find(acme, ["one.example.com"]), [later])
  },
  "takes only targets that have no answer and that no batch has": async (open) => {
    const store = await open()
    await store.keep(acme, "k", [answerOf("0.example.com", 5), answerOf("1.example.com", 50)])
    await store.take(acme, batchOf("first", ["2.example.com"]), always)
    const sites = ["0", "1", "2", "3"].map((name) => `${name}.example.com`)
    const other = await open()
    const taken = await other.take(acme, batchOf("second", sites), ({ at }) => at > 10)
    same(taken, batchOf("second", ["0.example.com", "3.example.com"]))
    same(await other.take(acme, batchOf("third", sites), always), undefined)
    same(keys(await store.pending(acme)), ["first", "second"])
    const elsewhere = await store.take({ ...acme, account: "other" }, batchOf("x", sites), always)
    same(elsewhere, batchOf("x", sites))
  },
  "gives each target to one of two runs that take it at once": async (open) => {
    const stores = await Promise.all([open(), open()])
    const sites = Array.from({ length: 50 }, (_, i) => `${i}.example.com`)
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        stores[i % 2]?.take(acme, batchOf(String(i), sites.slice(i)), always),
      ),
    )
    const targets = taken.flatMap((batch) => batch?.items.map(({ target }) => target) ?? [])
    same(targets.length, 50)
    same(new Set(targets).size, 50)
  },
  "removes a batch in the write that stores its answers": async (open) => {
    const store = await open()
    await store.take(acme, batchOf("k", ["one.example.com"]), always)
    await store.keep(acme, "k", [answerOf("one.example.com", 5)])
    same(await store.pending(acme), [])
    same((await store.find(acme, ["one.example.com"])).length, 1)
  },
  "replaces a batch only for its owner": async (open) => {
    const store = await open()
    const batch = batchOf("k", ["one.example.com"])
    await store.take(acme, batch, always)
    const adopted = { ...batch, owner: "me" }
    same(await store.replace(acme, batch, adopted), true)
    same(await (await open()).pending(acme), [adopted])
    same(await store.replace(acme, batch, undefined), false)
    same(await store.replace(acme, adopted, undefined), true)
    same(await store.replace(acme, adopted, adopted), false)
    same(await store.pending(acme), [])
  },
  "knows which runs are at work": async (open) => {
    const store = await open()
    const [one, two] = [await store.enter(), await store.enter()]
    same(await store.isAtWork(one.owner), true)
    one.leave()
    same(await store.isAtWork(one.owner), false)
    same(await store.isAtWork(two.owner), true)
    same(await store.isAtWork("somebody"), false)
  },
}

const acme: Payer = { service: "https://a.example", account: "acme" }

const always = () => true

const answerOf = (target: string, at: number, { url = target } = {}): Answer => ({
  target,
  outcome: { url, domainAuthority: 1.5, pageAuthority: 2 },
  at,
  requestId: "r",
})

const batchOf = (key: string, targets: ReadonlyArray<string>): Batch => ({
  key,
  items: targets.map((target) => ({ url: `${target}/`, target })),
  sentAt: 1,
  owner: "somebody",
})

const keys = (batches: ReadonlyArray<Batch>) => batches.map(({ key }) => key).toSorted()

const same = (actual: unknown, expected: unknown) => {
  const [a, b] = [actual, expected].map((value) => JSON.stringify(sorted(value)))
  if (a !== b) throw new Error(`expected ${b}, got ${a}`)
}

/** Sorts the keys of all objects. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, value]) => [key, sorted(value)]))
}
