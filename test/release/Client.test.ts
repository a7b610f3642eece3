/** Runs the client examples of the README and the guide unchanged against the program. */
import { execFile } from "node:child_process"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { transformSync } from "esbuild"
import { deno } from "../../scripts/support/fullTests.ts"
import { node20 } from "../../scripts/support/findNode20.ts"
import { consumer } from "../support/Package.ts"
import { books, folder, openAccount, serve } from "../support/Program.ts"

const root = join(import.meta.dirname, "../..")
const bin = (name: string) => join(root, "node_modules", ".bin", name)

const examplesIn = (file: string) =>
  [...readFileSync(join(root, file), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, code = ""]) => code,
  )

/** The client examples of the guide. The README has a copy of the first example. */
const examples = examplesIn("src/pages/guide/client.md")

const started = Effect.gen(function* () {
  const cwd = yield* folder
  const { key } = yield* openAccount(cwd, 10)
  const { url } = yield* serve(cwd)
  return { cwd, key, url }
})

/** Returns the command's stdout. */
const output = (
  cwd: string,
  [program, ...args]: readonly [string, ...Array<string>],
  key: string,
) =>
  Effect.promise(async () => {
    const env = { PATH: process.env["PATH"], AUTHORITY_API_KEY: key }
    const { stdout } = await promisify(execFile)(program, args, { cwd, env })
    return stdout
  })

describe("the examples of the README and the guide", () => {
  it.scopedLive(
    "the client examples compile, and print the same output on the current Node, Node 20 and Deno",
    () =>
      Effect.gen(function* () {
        assert.strictEqual(examples.length, 3)
        assert.include(examplesIn("README.md"), examples[0])
        const { cwd, key, url } = yield* started
        const project = yield* consumer
        examples.forEach((code, i) => {
          assert.include(code, "http://127.0.0.1:8080")
          const file = join(project, `example${i}.ts`)
          writeFileSync(file, code.replaceAll("http://127.0.0.1:8080", url))
        })
        const files = examples.map((_, i) => `example${i}.ts`)
        const strict = ["--strict", "--noEmit", "--skipLibCheck", "--types", "node"]
        const modern = ["--module", "nodenext", "--target", "es2024"]
        yield* output(project, [bin("tsc"), ...strict, ...modern, ...files], key)

        const flags = [
          "run",
          "--no-lock",
          "--node-modules-dir=manual",
          "--allow-net",
          "--allow-env",
        ]
        const runs = yield* Effect.forEach(files, (file) =>
          Effect.all([
            output(project, [process.execPath, file], key),
            output(project, [node20(), asJavaScript(project, file)], key),
            output(project, [deno, ...flags, file], key),
          ]),
        )
        const checked = ["example.com 92", "localhost INVALID_URL", ""]
        const lines = [
          JSON.stringify({
            url: "example.com",
            domainAuthority: 92,
            pageAuthority: 88,
            spamScore: 1,
          }),
          '{"url":"localhost","reason":"INVALID_URL"}',
          "",
        ].join("\n")
        assert.deepStrictEqual(runs, [
          [9, 8, 7].map((left) => checked.toSpliced(2, 0, `1 used, ${left} left`).join("\n")),
          // The list has an idempotency key, so only its first run is charged.
          [lines, lines, lines],
          [lines, lines, lines],
        ])
        const { charged } = yield* books(cwd)
        assert.strictEqual(charged, 7)
      }),
  )
})

/** Compiles a file to JavaScript, because Node 20 cannot run TypeScript. */
const asJavaScript = (folder: string, file: string) => {
  const { code } = transformSync(readFileSync(join(folder, file), "utf8"), { loader: "ts" })
  const script = file.replace(/ts$/, "js")
  writeFileSync(join(folder, script), code)
  return script
}

/**
 * Makes a project without Effect. Returns it with a function that reads the files of an installed
 * package.
 */
const installing = Effect.map(consumer, (project) => {
  for (const name of ["effect", "@effect"]) rmSync(join(project, "node_modules", name))
  const reader = (name: string) => (file: string) =>
    readFileSync(join(project, "node_modules", name, file), "utf8")
  return { project, client: reader("authority-metrics-client"), whole: reader("authority-metrics") }
})

describe("the packed client package", () => {
  it.scopedLive(
    "the whole package contains the same clients, as its main export and as /client",
    () =>
      Effect.gen(function* () {
        const { client, whole } = yield* installing
        const { exports } = JSON.parse(whole("package.json"))
        assert.deepStrictEqual(exports["."], exports["./client"])
        assert.strictEqual(exports["./client"].default, "./client.js")
        for (const file of ["client.js", "client-effect.js"]) {
          assert.strictEqual(whole(file), client(file))
        }
        for (const example of examples) {
          const renamed = example.replace('"authority-metrics-client', '"authority-metrics/client')
          assert.include(whole("README.md"), renamed)
        }
      }),
  )

  it.scopedLive("both packed clients share the same error classes", () =>
    Effect.gen(function* () {
      const project = yield* consumer
      const code = `import * as promise from "authority-metrics-client"
import * as effect from "authority-metrics-client/effect"
const errors = Object.keys(effect).filter((name) => effect[name].prototype instanceof effect.ClientError)
console.log(errors.length, errors.filter((name) => effect[name] !== promise[name]).join())`
      writeFileSync(join(project, "both.mjs"), code)
      assert.strictEqual(yield* output(project, [process.execPath, "both.mjs"], ""), "13 \n")
    }),
  )

  it.scopedLive(
    "the type declarations of the packed promise client compile in a project without Effect",
    () =>
      Effect.gen(function* () {
        const { project } = yield* installing
        const code = `import { AuthorityMetrics, type CheckResult } from "authority-metrics-client"
export const result: Promise<CheckResult> = AuthorityMetrics({ baseUrl: "http://a", apiKey: "" }).check(["a"])`
        writeFileSync(join(project, "main.ts"), code)
        const strict = ["--strict", "--noEmit", "--types", "node", "--module", "nodenext"]
        yield* output(project, [bin("tsc"), ...strict, "--target", "es2022", "main.ts"], "")
      }),
  )
})
