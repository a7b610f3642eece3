/**
 * Installs each built package in an empty folder, as another project does. Extracts the examples
 * from the README and the guide, and runs them there on Node and on Deno.
 */
import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { transformSync } from "esbuild"
import manifest from "../package.json" with { type: "json" }
import { clientPackage } from "./bundle-package.ts"
import { dist, root } from "./bundle.ts"
import { deno } from "./support/fullTests.ts"
import { node20 } from "./support/findNode20.ts"
import * as MoneyServer from "./support/MoneyServer.ts"
import * as Postgres from "./support/Postgres.ts"

const bin = (name: string) => join(root, "node_modules", ".bin", name)

const providers = "src/pages/guide/providers.md"

const run = async (cwd: string, program: string, ...args: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(program, args, { cwd })
  return stdout
}

/** Packs a built package and installs it in a folder, together with `others`. */
const npmInstall = async (folder: string, built: string, ...others: ReadonlyArray<string>) => {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  const tarball = (await run(built, "npm", "pack", "--silent", "--pack-destination", folder)).trim()
  await run(folder, "npm", "install", "--no-audit", "--no-fund", "--silent", tarball, ...others)
}

/** Returns the document's only example that imports this module. */
const example = (file: string, module: string) => {
  const text = readFileSync(join(root, file), "utf8")
  const [code, ...others] = [...text.matchAll(/^```ts\n(.*?)^```$/gms)]
    .map(([, code = ""]) => code)
    .filter((code) => code.includes(`from "${module}"`))
  assert(code !== undefined && others.length === 0, `${file} has one example of ${module}`)
  return code
}

/**
 * Writes the code blocks of the guide's page about ledgers, each to the file that its first line
 * names, and the guide's ledger.
 */
const writeLedger = (folder: string) => {
  const page = readFileSync(join(root, "src/pages/guide/ledger.md"), "utf8")
  const files = [...page.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)]
  for (const [, name = "", code = ""] of files) writeFileSync(join(folder, name), code)
  cpSync(join(root, "scripts/http-ledger/ledger.ts"), join(folder, "ledger.ts"))
}

const ledgerFiles = ["ledger.test.ts", "ledger.ts", "service.ts"]

const denoFlags = (folder: string) => [
  "--no-lock",
  "--node-modules-dir=manual",
  "--allow-net",
  "--allow-env",
  "--allow-read",
  "--allow-write",
  `--allow-ffi=${join(folder, "node_modules/better-sqlite3")}`,
  "--allow-sys",
]

const report = (line: string) => console.log(`ok  ${line}`)

const install = async (folder: string) => {
  await npmInstall(folder, dist, `@types/node@${manifest.devDependencies["@types/node"]}`)
  const tree = await run(folder, "npm", "ls", "--all", "--parseable", "--long")
  const installed = tree
    .split("\n")
    .filter((line) => /node_modules\/(better-sqlite3|effect):/.test(line))
  const versions = installed.map((line) => line.split(":")[1])
  assert.deepEqual(versions.sort(), [
    `better-sqlite3@${manifest.overrides["better-sqlite3"]}`,
    `effect@${manifest.dependencies.effect}`,
  ])
  report("npm installs one copy of Effect, and the version of better-sqlite3 that is tested")
}

const checkTypes = async (folder: string) => {
  const modern = ["--module", "nodenext", "--target", "es2024", "--lib", "es2024,dom"]
  const strict = ["--strict", "--noEmit", "--allowImportingTsExtensions", "--types", "node"]
  writeFileSync(join(folder, "wrong.ts"), wrong)
  const files = ["first.test.ts", "provider.ts", ...ledgerFiles, "wrong.ts"]
  await run(folder, bin("tsc"), ...modern, ...strict, ...files)
  report("the examples pass the type check, and wrong uses fail it")
}

/**
 * A program in which TypeScript must find every marked error. If a type of the package were
 * missing, it would count as `any`, and TypeScript would not find these errors.
 */
const wrong = `
import { Outcome, vendor } from "authority-metrics/provider"
import { layer } from "authority-metrics/server"
import { start } from "authority-metrics/testing"
// @ts-expect-error: lookup must return an Effect
vendor({ name: "ours", lookup: () => 7 })
// @ts-expect-error: domainAuthority must be a number
Outcome.Checked({ metrics: { domainAuthority: "91", pageAuthority: 74 } })
// @ts-expect-error: provider must be a Layer
layer({ provider: 7 })
// @ts-expect-error: layer needs the option provider or the option vendor
layer({})
// @ts-expect-error: figures must contain a Metrics object for each URL
start({ figures: { "example.com": 91 } })
`

/** Runs a program that starts the service and prints its address and a key, and uses the service. */
const withService = async (
  cwd: string,
  [program = "", ...args]: ReadonlyArray<string>,
  settings: Readonly<Record<string, string>>,
  use: (url: string, key: string) => Promise<void>,
) => {
  const child = spawn(program, args, {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], AUTHORITY_PORT: "0", ...settings },
  })
  const exited = once(child, "exit")
  try {
    const [line] = await once(createInterface(child.stdout), "line", {
      signal: AbortSignal.timeout(60_000),
    })
    const [url = "", key = ""] = String(line).split(" ")
    await use(url, key)
  } finally {
    child.kill("SIGTERM")
  }
  const [code] = await exited
  assert.equal(code, 0)
}

/**
 * Runs the guide's example program that starts the service, and checks two URLs with this service.
 */
const serve = async (
  folder: string,
  name: string,
  database: string,
  program: ReadonlyArray<string>,
) => {
  await withService(folder, program, { AUTHORITY_DATABASE_URL: database }, async (url, key) => {
    const answer = await fetch(`${url}/v1/metrics/da-pa/batch`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ urls: ["https://www.example.com/a", "example.org"] }),
    })
    assert.deepEqual(await answer.json(), {
      success: true,
      data: {
        successUrls: [{ url: "https://www.example.com/a", domainAuthority: 91, pageAuthority: 91 }],
        failedUrls: [{ url: "example.org", reason: "PROVIDER_ERROR" }],
      },
      quota: { creditsUsed: 1 },
    })
    const page = await fetch(`${url}/console`)
    assert.equal(page.status, 200)
    assert.doesNotMatch(await page.text(), /data-figures="synthetic"/)
  })
  report(`the guide's service with a provider answers on ${name}, and SIGTERM ends it`)
}

/**
 * Tests the guide's ledger: runs its tests and its service over a credit system in this process.
 */
const testLedger = async (folder: string) => {
  const token = "secret of the money server"
  const money = await MoneyServer.start(token)
  const settings = { MONEY_URL: money.url, MONEY_TOKEN: token }
  try {
    const env = { ...process.env, ...settings }
    const tests = ["--test", "--test-reporter=tap", "ledger.test.ts"]
    const { stdout } = await promisify(execFile)(process.execPath, tests, {
      cwd: folder,
      env,
      maxBuffer: 64 * 2 ** 20,
    })
    report(`the guide's ledger passes the tests of a ledger: ${/^# pass (\d+)/m.exec(stdout)?.[1]}`)
    const database = { AUTHORITY_DATABASE_URL: "sqlite:ledger.db" }
    const program = [process.execPath, "service.ts"]
    await withService(folder, program, { ...settings, ...database }, async (url, key) => {
      const headers = { "x-api-key": key, "content-type": "application/json" }
      const batch = async (name: string, urls: ReadonlyArray<string>) => {
        const answer = await fetch(`${url}/v1/metrics/da-pa/batch`, {
          method: "POST",
          headers: { ...headers, "idempotency-key": name },
          body: JSON.stringify({ urls }),
        })
        const replayed = answer.headers.get("idempotent-replayed")
        return { status: answer.status, replayed, body: await answer.text() }
      }
      const bought = await batch("bought", ["example.com", "example.org"])
      const known = await batch("known", ["example.com"])
      assert.deepEqual([bought.status, known.status], [200, 200])
      assert.deepEqual(await batch("known", ["example.com"]), { ...known, replayed: "true" })
      const balance = await fetch(`${url}/v1/quota/available-credits`, { headers })
      assert.deepEqual(await balance.json(), { success: true, data: { availableCredits: 7 } })
    })
    report("the guide's service takes the credits from the guide's ledger")
  } finally {
    await money.stop()
  }
}

/** Installs the client alone in an empty folder, and checks two URLs with it on each runtime. */
const testClient = async (client: string, service: string) => {
  await npmInstall(client, clientPackage(dist))
  const [, ...installed] = (await run(client, "npm", "ls", "--all", "--parseable"))
    .trim()
    .split("\n")
  assert.deepEqual(installed, [join(client, "node_modules/authority-metrics-client")])
  const files = readdirSync(join(client, "node_modules"), { recursive: true, encoding: "utf8" })
  const sizes = files.map((file) => statSync(join(client, "node_modules", file)))
  const bytes = sizes.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
  assert(bytes < 150_000)
  report(`npm installs one package for the client, of ${Math.round(bytes / 1000)} kB`)
  const settings = { AUTHORITY_DATABASE_URL: "sqlite:client.db" }
  await withService(service, [process.execPath, "provider.ts"], settings, async (url, key) => {
    const code = example("README.md", "authority-metrics-client").replace(
      "http://127.0.0.1:8080",
      url,
    )
    writeFileSync(join(client, "check.ts"), code)
    writeFileSync(join(client, "check.js"), transformSync(code, { loader: "ts" }).code)
    const env = { AUTHORITY_API_KEY: key }
    const checked = async (left: number, program: string, ...args: ReadonlyArray<string>) => {
      const { stdout } = await promisify(execFile)(program, args, { cwd: client, env })
      assert.equal(stdout, `example.com 91\nlocalhost INVALID_URL\n1 used, ${left} left\n`)
    }
    await checked(99, process.execPath, "check.ts")
    await checked(98, deno, "run", ...denoFlags(client), "check.ts")
    await checked(97, node20(), "check.js")
  })
  report("the client alone checks URLs on Node, Deno and Node 20")
}

/** Tests on Node 20: the clients must load, and the service must refuse to load. */
const refuseOldNode = async (folder: string) => {
  const load = (entry: string) =>
    run(folder, node20(), "-e", `import("authority-metrics/${entry}")`)
  for (const entry of ["server", "testing"]) {
    const refusal = await load(entry).catch((error: unknown) => error)
    assert.match(
      String(Object(refusal).stderr),
      /^authority-metrics needs Node 22\.14 or newer, but this is v20[^\n]*\n$/,
    )
  }
  await load("client")
  report("the service refuses an older Node in one line, and the client loads there")
}

const folder = mkdtempSync(join(tmpdir(), "authority-package-"))
const client = mkdtempSync(join(tmpdir(), "authority-client-"))
try {
  await install(folder)
  writeFileSync(join(folder, "first.test.ts"), example(providers, "authority-metrics/testing"))
  writeFileSync(join(folder, "provider.ts"), example(providers, "authority-metrics/server"))
  writeLedger(folder)
  writeFileSync(join(folder, "ours.json"), '{"example.com": 91}')
  await checkTypes(folder)
  await run(folder, process.execPath, "--test", "first.test.ts")
  await run(folder, deno, "test", ...denoFlags(folder), "first.test.ts")
  report("the test with a fake provider passes on Node and on Deno")
  await testClient(client, folder)
  await testLedger(folder)
  const onNode = [process.execPath, "provider.ts"]
  await serve(folder, "Node", "sqlite:node.db", onNode)
  await serve(folder, "Deno", "sqlite:deno.db", [deno, "run", ...denoFlags(folder), "provider.ts"])
  const postgres = await Postgres.start({ durable: false })
  try {
    await serve(folder, "Node with PostgreSQL", `${postgres.url}/postgres`, onNode)
  } finally {
    await postgres.destroy()
  }
  await refuseOldNode(folder)
} finally {
  for (const made of [folder, client]) rmSync(made, { recursive: true, force: true })
}
