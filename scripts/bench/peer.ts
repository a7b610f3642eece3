/**
 * The same service as it is customarily written: Fastify with compiled schemas over better-sqlite3,
 * prepared statements, one transaction to hold and one to settle, both durable; the figures and the
 * balances that are read are in a Map. Prints its address and its keys.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import Database from "better-sqlite3"
import Fastify from "fastify"
import { getDomain } from "tldts"
import { accounts, batchPath, credits, creditsPath, figures, urls } from "./load.ts"

interface Account {
  readonly id: string
}

const database = new Database("peer.db")
database.pragma("journal_mode = WAL")
database.pragma("synchronous = FULL")
database.exec(`
  CREATE TABLE accounts (id TEXT PRIMARY KEY, available INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE keys (hash TEXT PRIMARY KEY, account TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE holds (request TEXT PRIMARY KEY, account TEXT NOT NULL, amount INTEGER NOT NULL);
  CREATE TABLE entries (request TEXT, account TEXT, amount INTEGER, urls INTEGER, at INTEGER);
`)

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

const balances = new Map<string, number>()

const hold = database.transaction((request: string, account: string, amount: number) => {
  if (take.run(amount, account, amount).changes === 0) return false
  open.run(request, account, amount)
  return true
})

const settle = database.transaction(
  (request: string, account: string, held: number, charge: number) => {
    close.run(request)
    if (charge < held) giveBack.run(held - charge, account)
    if (charge > 0) enter.run(request, account, charge, charge, Date.now())
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

/** What the address is known by; undefined when it cannot be checked. */
const pageOf = (url: string) => {
  const address = url.includes("://") ? url : `https://${url}`
  if (!URL.canParse(address)) return undefined
  const { hostname, pathname, protocol, search } = new URL(address)
  if (protocol !== "https:" && protocol !== "http:") return undefined
  return getDomain(hostname) === null ? undefined : hostname + pathname + search
}
const known = new Map(urls.map((url) => [pageOf(url), figures]))

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
const unauthorized = { success: false, message: "The API key is invalid or expired." }

app.post<{ Body: { readonly urls: ReadonlyArray<string> } }>(
  batchPath,
  { schema: batchSchema },
  (request, reply) => {
    const account = accountOf(request.headers["x-api-key"])
    if (account === undefined) return reply.code(401).send(unauthorized)
    const requestId = randomUUID()
    const pages = request.body.urls.map((url) => ({ url, page: pageOf(url) }))
    const amount = pages.filter(({ page }) => page !== undefined).length
    if (!hold(requestId, account.id, amount)) {
      return reply.code(402).send({ success: false, message: "Insufficient credits." })
    }
    const successUrls: Array<object> = []
    const failedUrls: Array<object> = []
    for (const { page, url } of pages) {
      const metrics = page === undefined ? undefined : known.get(page)
      if (metrics !== undefined) successUrls.push({ url, ...metrics })
      else failedUrls.push({ url, reason: page === undefined ? "INVALID_URL" : "PROVIDER_ERROR" })
    }
    const creditsUsed = successUrls.length
    settle(requestId, account.id, amount, creditsUsed)
    balances.set(account.id, (balances.get(account.id) ?? 0) - creditsUsed)
    return reply.header("x-request-id", requestId).send({
      success: true,
      data: { successUrls, failedUrls },
      quota: { creditsUsed },
    })
  },
)

app.get(creditsPath, { schema: creditsSchema }, (request, reply) => {
  const account = accountOf(request.headers["x-api-key"])
  if (account === undefined) return reply.code(401).send(unauthorized)
  return reply.send({
    success: true,
    data: { availableCredits: balances.get(account.id) ?? 0 },
  })
})

const url = await app.listen({ host: "127.0.0.1", port: 0 })
console.log(JSON.stringify({ url, keys }))
