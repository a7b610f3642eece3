/** Runs the commands of the guide "Operating". */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { request } from "../support/RawHttp.ts"
import * as Settings from "../../src/Settings.ts"
import { blocksOf } from "../support/Guide.ts"
import { node20 } from "../../scripts/support/findNode20.ts"
import { exited, folder, openAccount, serve, shell } from "../support/Program.ts"
import { creditsPath } from "../support/TestServer.ts"

const root = join(import.meta.dirname, "../..")
const blocks = blocksOf("operating.md")

/** Runs a block with `authority` as the program. Fails when a line of the block fails. */
const type = (cwd: string, block: string) =>
  Effect.map(shell(cwd, `set -e\n${block}\n`, []), ({ code, stderr, stdout }) => {
    assert.strictEqual(code, 0, `${block}${stdout}${stderr}`)
    return stdout
  })

const moz = { AUTHORITY_PROVIDER: "moz", AUTHORITY_MOZ_TOKEN: "token" }

describe("the commands of the operating guide", () => {
  it.scopedLive(
    "the operating guide's commands create the first account and its key while the service runs",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { url } = yield* serve(cwd, moz)
        const [create = ""] = blocks("The first account", "sh")
        const [key = ""] = /am_\w+/.exec(yield* type(cwd, create)) ?? []
        const { status, text } = yield* request(url, {
          path: creditsPath,
          headers: { "x-api-key": key },
        })
        assert.deepStrictEqual([status, JSON.parse(text).data], [200, { availableCredits: 1000 }])
      }),
  )

  it.scopedLive(
    "the operating guide's example request succeeds with an account's API key and costs one credit",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 10)
        const { url } = yield* serve(cwd)
        const [, send = ""] = blocks("The first account", "sh")
        const line = send.replace("http://127.0.0.1:8080", url)
        const answer = yield* type(cwd, `AUTHORITY_API_KEY=${key}\n${line}`)
        assert.strictEqual(JSON.parse(answer).quota.creditsUsed, 1)
      }),
  )

  it.scopedLive(
    "the operating guide's commands for accounts, keys and credits run without an error",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const [lines = ""] = blocks("Accounts, keys and credits", "sh")
        assert.match(yield* type(cwd, lines), /invoice 17/)
      }),
  )

  it.scopedLive(
    "the operating guide's commands back up the database of a running service, and restore the database after the service has stopped",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        yield* openAccount(cwd, 100)
        const [backup = ""] = blocks("SQLite", "sh")
        const [, restore = ""] = blocks("SQLite", "sh")
        const running = yield* serve(cwd)
        yield* type(cwd, backup)
        yield* type(cwd, "authority credits grant --account acme --amount 5")
        running.signal("SIGTERM")
        yield* exited(running)
        assert.match(yield* type(cwd, restore), /1 account and 1 entry were verified/)
        assert.isDefined(readdirSync(cwd).find((name) => name.includes(".replaced-")))
      }),
  )

  it.scopedLive(
    "the operating guide's commands write the heads of the ledger, and prove later that it still matches them",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        yield* openAccount(cwd, 100)
        const [first = "", second = ""] = blocks("Prove the ledger", "sh")
        yield* type(cwd, first)
        yield* type(cwd, "authority credits grant --account acme --amount 5")
        assert.match(yield* type(cwd, second), /continues heads-1/)
      }),
  )

  it("the repository has each file that the operating guide's commands install, and the systemd unit starts the installed program", () => {
    const lines = [...blocks("systemd", "sh"), ...blocks("A container", "sh")].join("")
    const files = [...lines.matchAll(/scripts\/\S+/g)].map(([file]) => file)
    assert.isNotEmpty(files)
    for (const file of files) assert.isTrue(existsSync(join(root, file)), file)
    const unit = readFileSync(join(root, "scripts/deploy/authority.service"), "utf8")
    const [installed = ""] = /\/usr\/local\S+/.exec(lines) ?? []
    assert.include(unit, `ExecStart=${installed} serve`)
    assert.include(unit, "EnvironmentFile=-/etc/authority.env")
  })

  it("the deployment with Compose has the guide's configuration of Caddy, and sets only settings that exist", () => {
    const deployed = (file: string) => readFileSync(join(root, "scripts/deploy", file), "utf8")
    const words = (text: string) => text.trim().split(/\s+/)
    const [caddy = ""] = blocks("A reverse proxy with TLS", "caddy")
    const inContainers = caddy
      .replace("metrics.example.com", "{$DOMAIN}")
      .replace("127.0.0.1:8080", "authority:8080")
    assert.deepStrictEqual(words(deployed("Caddyfile")), words(inContainers))
    const set = `${deployed("compose.yml")}${deployed("settings.env")}`.matchAll(
      /\b(AUTHORITY_\w+)[:=]/g,
    )
    assert.deepStrictEqual(
      Settings.unknownNames(Object.fromEntries([...set].map(([, name = ""]) => [name, ""]))),
      [],
    )
  })

  it.scopedLive("npm run authority runs a CLI verb on a machine with Node 20", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      yield* openAccount(cwd, 100)
      const [, line = ""] = /`(npm run -s authority -- account list)`/.exec(guide) ?? []
      const list = execFileSync("sh", ["-c", line], {
        cwd: root,
        encoding: "utf8",
        env: {
          PATH: [dirname(node20()), process.env["PATH"]].join(delimiter),
          AUTHORITY_DATABASE_URL: `sqlite:${join(cwd, "authority.db")}`,
        },
      })
      assert.match(list, /^acme +100 /m)
    }),
  )
})

const guide = readFileSync(join(root, "src/pages/guide/operating.md"), "utf8")
