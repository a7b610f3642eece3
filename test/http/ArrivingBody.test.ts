/** Request bodies that are still arriving take little memory. */
import { createServer } from "node:http"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import { AccountId, AccountName } from "../../src/Account.ts"
import { collect } from "../../src/http/ArrivingBody.ts"
import { Request } from "../../src/http/Request.ts"
import { connect, listen } from "../../scripts/support/RawHttp.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import { batch, batchPath, start } from "../support/TestServer.ts"

const head = (key: string) =>
  [
    `POST ${batchPath} HTTP/1.1`,
    "host: localhost",
    `x-api-key: ${key}`,
    "content-type: application/json",
    "content-length: 500000",
    "\r\n",
  ].join("\r\n")

it.scopedLive(
  "an account with 8 MiB of arriving bodies gets 429 for more, and other accounts are served",
  () =>
    Effect.gen(function* () {
      const { accounts, books, key, keys, send, url } = yield* start()
      const { id: account } = yield* accounts.create(AccountName.make("other"))
      const other = Redacted.value((yield* keys.issue({ account })).key)
      const stalled = yield* Effect.replicateEffect(connect(url), 60)
      for (const connection of stalled) {
        yield* connection.sendOut(head(key) + "x".repeat(400_000))
      }
      const isRefused = ({ received }: (typeof stalled)[number]) =>
        received().startsWith("HTTP/1.1 429 ")
      // A body of 500,000 bytes takes 512 KiB, so 16 of them fit.
      yield* eventually("refusals", () => stalled.filter(isRefused).length >= 44)
      const refused = stalled.filter(isRefused)
      assert.isBelow(refused.length, 60)
      for (const { received } of refused) {
        assert.match(received(), /\r\nretry-after: 1\r\n/)
        assert.match(received(), /\r\nconnection: close\r\n/i)
        assert.match(received(), /\{"success":false,"message":"Too many of your request bodies/)
      }

      const document = JSON.stringify({ urls: ["localhost"] })
      const headers = { "content-length": String(document.length) }
      const inPieces = (key: string) => send({ ...batch(key, "", headers), body: [...document] })
      assert.strictEqual((yield* inPieces(other)).status, 200)
      stalled.forEach(({ hangUp }) => hangUp())
      yield* eventually(
        "the account is served again",
        Effect.map(inPieces(key), ({ status }) => status === 200),
      )
      assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
    }),
)

it.scopedLive(
  "while the bodies of all accounts take 128 MiB, further bodies get 503, and whole requests are served",
  () =>
    Effect.gen(function* () {
      const { accounts, check, keys, url } = yield* start()
      // 16 bodies fill an account, and 16 accounts the service, before a byte of them has arrived.
      const own = yield* Effect.forEach(Array.from({ length: 17 }), (_, i) =>
        Effect.gen(function* () {
          const { id } = yield* accounts.create(AccountName.make(`account-${i}`))
          return Redacted.value((yield* keys.issue({ account: id })).key)
        }),
      )
      const stalled = yield* Effect.forEach(own, (key) =>
        Effect.gen(function* () {
          const connections = yield* Effect.replicateEffect(connect(url), 16)
          for (const { sendOut } of connections) yield* sendOut(head(key))
          return connections
        }),
      )
      const all = stalled.flat()
      const refused = () => all.filter(({ received }) => received().startsWith("HTTP/1.1 503 "))
      yield* eventually("refusals", () => refused().length === 16)
      for (const { received } of refused()) {
        assert.match(received(), /\r\nretry-after: 1\r\n/)
        assert.match(
          received(),
          /"message":"Too many request bodies are still arriving, and nothing/,
        )
      }
      assert.strictEqual((yield* check(["example.com"])).status, 200)
      all.forEach(({ hangUp }) => hangUp())
    }),
)

it.scopedLive(
  "large bodies, which share memory one after the other, are answered each with its own URL",
  () =>
    Effect.gen(function* () {
      const { key, send } = yield* start()
      const ask = (i: number) =>
        Effect.gen(function* () {
          const url = `host-${i}.com`
          const kilobytes = i % 2 === 0 ? 500 : 200
          const body = `{"urls":["${url}"]}`.padEnd(kilobytes * 1000)
          const { status, text } = yield* send(batch(key, body))
          assert.strictEqual(status, 200)
          assert.include(text, `"successUrls":[{"url":"${url}"`)
        })
      const inOrder = Array.from({ length: 12 }, (_, i) => i)
      yield* Effect.forEach(inOrder, ask)
      yield* Effect.forEach(inOrder, ask, { concurrency: 6 })
    }),
)

it.scopedLive(
  "a whole chunked body whose client hangs up while its key is looked up interrupts the request",
  () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
      const whole = (request: Request) =>
        collect(request, AccountId.make("one"), () => Effect.void).pipe(Effect.exit)
      const server = createServer({ IncomingMessage: Request }, (request) => {
        request.on("close", () => {
          Effect.runFork(Deferred.complete(ended, whole(request)))
        })
      })
      const { hangUp, sendOut } = yield* connect(yield* listen(server))
      yield* sendOut("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
      yield* sendOut("2\r\n{}\r\n0\r\n\r\n")
      hangUp()
      assert.isTrue(Exit.isInterrupted(yield* Deferred.await(ended)))
    }),
)
