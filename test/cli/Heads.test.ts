/**
 * Tests that heads of a ledger, kept elsewhere, reveal changes that a correct hash chain cannot.
 */
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { charge, statement } from "../../scripts/support/ledger.ts"
import type { AccountId } from "../../src/accounts/Account.ts"
import { chainHash, genesisHash } from "../../src/ledger/LedgerEntry.ts"
import { engine, postgresDatabase, sqliteFile, temporaryDatabase } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { document, verb } from "../support/Verb.ts"

const engines = {
  SQLite: (cwd: string) => {
    const file = join(cwd, "authority.db")
    return Effect.succeed({ url: `sqlite:${file}`, stores: sqliteFile(file) })
  },
  PostgreSQL: () =>
    Effect.map(temporaryDatabase, (url) => ({
      url: Redacted.value(url),
      stores: postgresDatabase(url),
    })),
}

/**
 * Removes the last entry, which is a charge, and undoes its effect on the balance and the usage.
 */
const cutOff = (account: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const entries = yield* statement(account)
    const last = entries.at(-1) ?? assert.fail("no entry")
    yield* sql`DELETE FROM entries WHERE account_id = ${account} AND sequence = ${last.sequence}`
    yield* sql`
      UPDATE balances SET entries = entries - 1, charged = charged - ${last.amount},
        head = (SELECT hash FROM entries WHERE account_id = ${account} AND sequence = ${last.sequence - 1})
      WHERE account_id = ${account}`
    yield* sql`
      UPDATE usage SET credits = credits - ${last.amount}, checks = checks - ${last.urls}
      WHERE account_id = ${account}`
  })

/** Changes the note of the first entry, and recomputes the hash of every entry. */
const rewrite = (account: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    let head = genesisHash
    for (const entry of yield* statement(account)) {
      const note = entry.sequence === 1 ? "paid in cash" : entry.note
      head = chainHash(head, { ...entry, note })
      yield* sql`UPDATE entries SET ${sql.update({ note, hash: head })}
        WHERE account_id = ${account} AND sequence = ${entry.sequence}`
    }
    yield* sql`UPDATE balances SET head = ${head} WHERE account_id = ${account}`
  })

describe(`the heads of a ledger in ${engine}`, () => {
  const written = Effect.gen(function* () {
    const cwd = yield* temporaryFolder
    const { stores, url } = yield* engines[engine](cwd)
    const account = yield* newAccountWith(100).pipe(
      Effect.tap((account) => charge(account, 30)),
      Effect.tap((account) => charge(account, 20)),
      Effect.provide(stores),
    )
    const verify = (...options: ReadonlyArray<string>) =>
      verb(cwd, ["credits", "verify", "--json", ...options], { AUTHORITY_DATABASE_URL: url })
    const { stdout } = yield* verify("--heads", "heads")
    return { account, cwd, stores, verify, document: JSON.parse(stdout) }
  })

  it.scopedLive(
    "verify --heads writes a file, and a ledger that has grown since then still matches it",
    () =>
      Effect.gen(function* () {
        const { account, cwd, document, stores, verify } = yield* written
        const text = readFileSync(join(cwd, "heads"), "utf8")
        assert.match(text, new RegExp(`^${account} 3 [0-9a-f]{64}\n$`))
        const digest = createHash("sha256").update(text).digest("hex")
        assert.deepStrictEqual(document.heads, { file: "heads", accounts: 1, digest })

        yield* Effect.provide(Effect.zipRight(charge(account, 10), newAccountWith(5)), stores)
        const { code, stdout } = yield* verify("--against", "heads", "--heads", "later")
        assert.strictEqual(code, 0, stdout)
        assert.strictEqual(JSON.parse(stdout).heads.accounts, 2)
        // Version 1.1.0 ended the file with the head of the audit log.
        writeFileSync(join(cwd, "of-1.1.0"), `${text}audit 3 ${"0".repeat(64)}\n`)
        assert.strictEqual((yield* verify("--against", "of-1.1.0")).code, 0)
        const again = yield* verify("--heads", "heads")
        assert.deepStrictEqual([again.code, again.stdout], [1, ""])
        assert.match(
          again.stderr,
          /^authority: heads cannot be written: it exists already; name another file .+\n$/,
        )
        assert.strictEqual(readFileSync(join(cwd, "heads"), "utf8"), text)
      }),
  )

  for (const [what, tamper, problem] of [
    ["whose last entries were cut off", cutOff, "entry 3 of the checkpoint is missing"],
    ["that was written anew", rewrite, "entry 3 differs from the checkpoint"],
  ] as const) {
    it.scopedLive(`verify --against rejects a ledger ${what}, which verify alone accepts`, () =>
      Effect.gen(function* () {
        const { account, cwd, stores, verify } = yield* written
        yield* Effect.provide(tamper(account), stores)
        assert.strictEqual((yield* verify()).code, 0)
        const { code, stdout } = yield* verify("--against", "heads", "--heads", "later")
        assert.strictEqual(code, 1)
        const { problems } = JSON.parse(stdout)
        assert.strictEqual(problems.length, 1)
        assert.include(problems[0], `account ${account}: ${problem}`)
        assert.isFalse(existsSync(join(cwd, "later")))
      }),
    )
  }

  it.scopedLive("verify --against refuses a file that contains anything but heads", () =>
    Effect.gen(function* () {
      const { cwd, verify } = yield* written
      const text = readFileSync(join(cwd, "heads"), "utf8")
      writeFileSync(join(cwd, "wrong"), `${text}memoirs\n`)
      writeFileSync(join(cwd, "empty"), "")
      for (const [file, problem] of [
        ["wrong", /wrong: line 2 is not a head/],
        ["empty", /empty is empty, so it proves nothing; name a file that/],
        ["missing", /missing cannot be read: there is no such file or folder; .*ENOENT/],
      ] as const) {
        const { code, stderr, stdout } = yield* verify("--against", file)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, problem)
      }
    }),
  )
})

describe("the digest of a ledger's heads", () => {
  it.scopedLive(
    "a backup reports the digest of its ledger's heads, and restoring it reports the same digest",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        yield* document(cwd, "account", "create", "acme", "--credits", "5")
        const { heads } = yield* document(cwd, "credits", "verify", "--heads", "heads")
        assert.strictEqual((yield* document(cwd, "backup", "copy.db")).heads, heads.digest)
        yield* document(cwd, "credits", "grant", "--account", "acme", "--amount", "1")
        assert.notStrictEqual((yield* document(cwd, "backup", "later.db")).heads, heads.digest)
        assert.strictEqual((yield* document(cwd, "restore", "copy.db")).heads, heads.digest)
      }),
  )
})
