/**
 * A hand-written server that does the same as the service. The benchmark compares the speed of the
 * two. This server uses Fastify with compiled schemas, and better-sqlite3 with prepared statements.
 * One durable transaction holds credits, and a second one settles the hold. A request with an
 * idempotency key takes the key in the first transaction and stores its answer in the second one.
 * Prints its address and its API keys.
 *
 *     node peer.ts known         has the figures of all `knownUrls` in memory
 *     node peer.ts bought URL    buys figures from the fake vendor at URL
 *     node peer.ts sandbox       computes figures from a hash
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import Database from "better-sqlite3"
import Fastify, { type FastifyError } from "fastify"
import { getDomain } from "tldts"
import { accounts, batchPath, credits, creditsPath, figuresOf, knownUrls } from "./requests.ts"

/** Returns the host, path and query of `url`; undefined when `url` is not a public web address. */
const pageOf = (url: string) => {
  const address = url.includes("://") ? url : `https://${url}`
  if (!URL.canParse(address)) return undefined
  const { hostname, pathname, protocol, search } = new URL(address)
  if (protocol !== "https:" && protocol !== "http:") return undefined
  return getDomain(hostname) === null ? undefined : hostname + pathname + search
}

const questionOf = (pages: ReadonlyArray<string>) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: randomUUID(),
    method: "data.site.metrics.fetch.multiple",
    params: {
      data: {
        site_queries: [...new Set(pages)].map((page) => ({
          query: `https://${page}`,
          scope: "url",
        })),
      },
    },
  })

interface Reply {
  readonly result: {
    readonly results_by_site: ReadonlyArray<{
      readonly site_query: { readonly original_site_query: { readonly query: string } }
      readonly site_metrics: {
        readonly domain_authority: number
        readonly page_authority: number
        readonly spam_score: number
      }
    }>
  }
}

/** Returns the figures in an answer, keyed by page. */
const figuresIn = ({ result }: Reply) =>
  new Map(
    result.results_by_site.map(({ site_metrics, site_query }) => [
      site_query.original_site_query.query.slice("https://".length),
      {
        domainAuthority: site_metrics.domain_authority,
        pageAuthority: site_metrics.page_authority,
        spamScore: site_metrics.spam_score,
      },
    ]),
  )

const [source = "known", vendor = ""] = process.argv.slice(2)

const database = new Database("peer.db")
database.pragma("journal_mode = WAL")
database.pragma("synchronous = FULL")
database.exec(`
  CREATE TABLE accounts (id TEXT PRIMARY KEY, available INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE keys (hash TEXT PRIMARY KEY, account TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE holds (request TEXT PRIMARY KEY, account TEXT NOT NULL, amount INTEGER NOT NULL);
  CREATE TABLE entries (request TEXT, account TEXT, amount INTEGER, urls INTEGER, at INTEGER);
  CREATE TABLE receipts (
    account TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, answer TEXT, at INTEGER,
    PRIMARY KEY (account, key)
  );
`)

interface Account {
  readonly id: string
}

interface Receipt {
  readonly fingerprint: string
  /** The stored answer. Null while the request is in progress. */
  readonly answer: string | null
}

/**
 * The idempotency key that names a request, and the hash of the request's URLs (`fingerprint`). The
 * hash shows whether a repeated key comes with the same URLs.
 */
interface Name {
  readonly key: string
  readonly fingerprint: string
}

const insertAccount = database.prepare("INSERT INTO accounts VALUES (?, ?)")
const insertKey = database.prepare("INSERT INTO keys VALUES (?, ?)")
const findKey = database.prepare<[string], Account>("SELECT account AS id FROM keys WHERE hash = ?")
const take = database.prepare(
  "UPDATE accounts SET available = available - ? WHERE id = ? AND available >= ?",
)
const giveBack = database.prepare("UPDATE accounts SET available = available + ? WHERE id = ?")
const open = database.prepare("INSERT INTO holds VALUES (?, ?, ?)")
const close = database.prepare("DELETE FROM holds WHERE request = ?")
const enter = database.prepare("INSERT INTO entries VALUES (?, ?, ?, ?, ?)")
const takeName = database.prepare(
  "INSERT INTO receipts VALUES (?, ?, ?, NULL, ?) ON CONFLICT DO NOTHING",
)
const freeName = database.prepare("DELETE FROM receipts WHERE account = ? AND key = ?")
const findReceipt = database.prepare<[string, string], Receipt>(
  "SELECT fingerprint, answer FROM receipts WHERE account = ? AND key = ?",
)
const storeAnswer = database.prepare("UPDATE receipts SET answer = ? WHERE account = ? AND key = ?")

const balances = new Map<string, number>()

/**
 * Returns the receipt of the earlier request with the same idempotency key, if there is one.
 * Otherwise holds the credits and returns true, or returns false if the account has too few
 * credits.
 */
const hold = database.transaction(
  (request: string, account: string, amount: number, name: Name | undefined) => {
    if (name !== undefined) {
      const { changes } = takeName.run(account, name.key, name.fingerprint, Date.now())
      const receipt = changes === 0 ? findReceipt.get(account, name.key) : undefined
      if (receipt !== undefined) return receipt
    }
    if (take.run(amount, account, amount).changes === 0) {
      if (name !== undefined) freeName.run(account, name.key)
      return false
    }
    open.run(request, account, amount)
    return true
  },
)

const settle = database.transaction(
  (
    request: string,
    account: string,
    { amount, charge }: { readonly amount: number; readonly charge: number },
    name: Name | undefined,
    answer: string,
  ) => {
    close.run(request)
    if (charge < amount) giveBack.run(amount - charge, account)
    if (charge > 0) enter.run(request, account, charge, charge, Date.now())
    if (name !== undefined) storeAnswer.run(answer, account, name.key)
  },
)

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

const keys = Array.from({ length: accounts }, (_, i) => {
  const key = `am_${randomBytes(32).toString("hex")}`
  insertAccount.run(`account-${i}`, credits)
  insertKey.run(sha256(key), `account-${i}`)
  balances.set(`account-${i}`, credits)
  return key
})

type Figures = ReturnType<typeof figuresOf>
/** Returns figures by page. Omits pages without figures. */
type Lookup = (
  pages: ReadonlyArray<string>,
) => ReadonlyMap<string, Figures> | Promise<ReadonlyMap<string, Figures>>

const known = new Map(knownUrls.map((url) => [pageOf(url) ?? "", figuresOf(url)]))

/**
 * Buys the figures with one vendor call. The vendor accepts as many URLs per call as a batch can
 * have.
 */
const buy = async (pages: ReadonlyArray<string>) => {
  const response = await fetch(vendor, {
    method: "POST",
    headers: { "content-type": "application/json", "x-moz-token": "a-token-for-the-bench" },
    body: questionOf(pages),
    signal: AbortSignal.timeout(10_000),
  })
  if (!response.ok) throw new Error(`the vendor answered ${response.status}`)
  return figuresIn((await response.json()) as Reply)
}

/** Whether the vendor has failed. Only the first failure is printed. */
let hasFailed = false
const lookups: Record<string, Lookup> = {
  known: () => known,
  bought: (pages) =>
    buy(pages).catch((error: unknown) => {
      if (!hasFailed) console.error(error)
      hasFailed = true
      return new Map()
    }),
  sandbox: (pages) => new Map(pages.map((page) => [page, figuresOf(page)])),
}
const lookup = lookups[source]
if (lookup === undefined) throw new Error(`no source "${source}": known, bought or sandbox`)

const string = { type: "string" }
const number = { type: "number" }
const object = (properties: object, optional: ReadonlyArray<string> = []) => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})
const refusal = object({ success: { type: "boolean" }, message: string })
const batchSchema = {
  body: object({
    urls: {
      type: "array",
      minItems: 1,
      maxItems: 50,
      items: { type: "string", minLength: 1, maxLength: 1000 },
    },
  }),
  headers: object({ "idempotency-key": { type: "string", minLength: 1, maxLength: 257 } }, [
    "idempotency-key",
  ]),
  response: {
    200: object({
      success: { type: "boolean" },
      data: object({
        successUrls: {
          type: "array",
          items: object(
            { url: string, domainAuthority: number, pageAuthority: number, spamScore: number },
            ["spamScore"],
          ),
        },
        failedUrls: { type: "array", items: object({ url: string, reason: string }) },
      }),
      quota: object({ creditsUsed: number }),
    }),
    "4xx": refusal,
  },
}
const creditsSchema = {
  response: {
    200: object({ success: { type: "boolean" }, data: object({ availableCredits: number }) }),
    "4xx": refusal,
  },
}

const app = Fastify()

const accountOf = (key: unknown) => (typeof key === "string" ? findKey.get(sha256(key)) : undefined)
const refused = (message: string) => ({ success: false, message })

app.setErrorHandler<FastifyError>((error, _, reply) =>
  reply.code(error.statusCode ?? 500).send(refused(error.message)),
)

app.post<{
  Body: { readonly urls: ReadonlyArray<string> }
  Headers: { readonly "idempotency-key"?: string }
}>(batchPath, { schema: batchSchema }, async (request, reply) => {
  const account = accountOf(request.headers["x-api-key"])
  if (account === undefined) {
    return reply
      .code(401)
      .send(refused("The API key is invalid or expired. Send it in the header x-api-key."))
  }
  const requestId = randomUUID()
  reply.header("x-request-id", requestId)
  const { urls } = request.body
  const checks = urls.map((url) => ({ url, page: pageOf(url) }))
  const pages = checks.map(({ page }) => page).filter((page) => page !== undefined)
  const key = request.headers["idempotency-key"]
  const name =
    key === undefined || pages.length === 0
      ? undefined
      : { key, fingerprint: sha256(JSON.stringify(urls)) }

  const held = hold(requestId, account.id, pages.length, name)
  if (held === false) return reply.code(402).send(refused("Insufficient credits."))
  if (held !== true) {
    if (held.fingerprint !== name?.fingerprint) {
      return reply.code(422).send(refused("The Idempotency-Key was used with another body."))
    }
    if (held.answer === null) {
      return reply.code(409).send(refused("A request with this Idempotency-Key is in progress."))
    }
    return reply.header("idempotent-replayed", "true").type("application/json").send(held.answer)
  }

  const figures = await lookup(pages)
  const successUrls: Array<object> = []
  const failedUrls: Array<object> = []
  for (const { page, url } of checks) {
    const metrics = page === undefined ? undefined : figures.get(page)
    if (metrics !== undefined) successUrls.push({ url, ...metrics })
    else failedUrls.push({ url, reason: page === undefined ? "INVALID_URL" : "PROVIDER_ERROR" })
  }
  const creditsUsed = successUrls.length
  const answer = reply.serialize({
    success: true,
    data: { successUrls, failedUrls },
    quota: { creditsUsed },
  })
  const amounts = { amount: pages.length, charge: creditsUsed }
  settle(requestId, account.id, amounts, name, String(answer))
  balances.set(account.id, (balances.get(account.id) ?? 0) - creditsUsed)
  return reply.type("application/json").send(answer)
})

app.get(creditsPath, { schema: creditsSchema }, (request, reply) => {
  const account = accountOf(request.headers["x-api-key"])
  if (account === undefined) {
    return reply
      .code(401)
      .send(refused("The API key is invalid or expired. Send it in the header x-api-key."))
  }
  return reply.send({
    success: true,
    data: { availableCredits: balances.get(account.id) ?? 0 },
  })
})

const url = await app.listen({ host: "127.0.0.1", port: 0 })
console.log(JSON.stringify({ url, keys }))
