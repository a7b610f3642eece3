import { spawn } from "node:child_process"
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as MemoryRankings from "../src/memory/Rankings.ts"
import { Outcome } from "../src/Metrics.ts"
import * as Dataset from "../src/providers/Dataset.ts"
import { Rankings } from "../src/dataset/Rankings.ts"
import { StoreFailure } from "../src/StoreFailure.ts"
import { lookup, tags } from "./support/lookup.ts"

const rankings = Layer.effect(
  Rankings,
  Effect.tap(Rankings, (rankings) =>
    rankings.replace(
      Stream.make([
        { name: "example.com", rank: 10 },
        { name: "blog.example.com", rank: 1000 },
        { name: "only.example.org", rank: 5 },
      ]),
    ),
  ),
).pipe(Layer.provide(MemoryRankings.layer), Layer.orDie)

const dataset = { layer: Dataset.layer.pipe(Layer.provide(rankings)) }

const checked = (domainAuthority: number, pageAuthority: number) =>
  Outcome.Checked({ metrics: { domainAuthority, pageAuthority } })

describe("the provider dataset", () => {
  it.effect("page authority comes from the host if the list has it, else from the domain", () =>
    Effect.gen(function* () {
      expect(
        yield* lookup(dataset, "example.com/a", "blog.example.com", "www.example.com"),
      ).toEqual([checked(87.5, 87.5), checked(87.5, 62.5), checked(87.5, 87.5)])
    }),
  )

  it.effect("an unknown domain fails instead of getting 0", () =>
    Effect.gen(function* () {
      expect(tags(yield* lookup(dataset, "unknown.com", "only.example.org"))).toEqual([
        "PROVIDER_ERROR",
        "PROVIDER_ERROR",
      ])
    }),
  )

  it.effect("a database failure is a ProviderError", () =>
    Effect.gen(function* () {
      const broken = Layer.succeed(Rankings, {
        ranks: () => new StoreFailure({ message: "the disk is full" }),
        replace: () => Effect.void,
      })
      const layer = Dataset.layer.pipe(Layer.provide(broken))
      expect(yield* Effect.flip(lookup({ layer }, "example.com"))).toMatchObject({
        provider: "dataset",
        reason: "Unavailable",
      })
    }),
  )

  it("the scale is logarithmic: a tenfold rank gives 12.5 less, rank 100 million gives 0", () => {
    const ranks = [1, 10, 100, 1_000_000, 100_000_000, 4_000_000_000]
    expect(ranks.map(Dataset.authority)).toEqual([100, 87.5, 75, 25, 0, 0])
  })
})

/** Each import starts the program, so these tests are slow. */
const startTime = { timeout: 60_000 }

describe("authority dataset import", startTime, () => {
  const folder = Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "authority-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true })),
  )

  const run = (folder: string, ...args: ReadonlyArray<string>) =>
    Effect.async<{ code: number | null; stdout: string; stderr: string }>((resume) => {
      const child = spawn(process.execPath, ["src/main.ts", "dataset", "import", ...args], {
        env: { ...process.env, AUTHORITY_DATABASE_URL: `sqlite:${join(folder, "a.db")}` },
      })
      let stdout = ""
      let stderr = ""
      child.stdout.on("data", (text) => (stdout += text))
      child.stderr.on("data", (text) => (stderr += text))
      child.on("close", (code) => resume(Effect.succeed({ code, stdout, stderr })))
    })

  it.scopedLive("imports plain or gzip files, all names or the top, and reports broken lines", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const file = join(path, "list.csv")
      const text = "1,a.com\nbroken\n3,c.com\n4,d.com\n"
      yield* Effect.promise(() => writeFile(file, gzipSync(text)))
      const whole = yield* run(path, file, "--format", "tranco", "--json")
      expect(JSON.parse(whole.stdout)).toMatchObject({ rows: 3, broken: 1, brokenLines: [2] })
      expect(whole).toMatchObject({
        code: 0,
        stderr: `authority: created the database ${join(path, "a.db")}\n`,
      })

      yield* Effect.promise(() => writeFile(file, text))
      const top = yield* run(path, file, "--format", "tranco", "--top", "2")
      expect(top.stdout).toMatch(/^Imported 2 names in .* 1 broken lines were passed over: 2\.\n$/)
    }),
  )

  it.scopedLive("a file that cannot be read gives a one-line error", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const file = join(path, "list.csv")
      const absent = yield* run(path, file, "--format", "tranco")
      expect(absent.stderr).toMatch(/^authority: .* cannot be read: ENOENT.*\n$/)
      expect(yield* Effect.promise(() => readdir(path))).toEqual([])
      yield* Effect.promise(() => writeFile(file, "1,a.com\n"))
      yield* run(path, file, "--format", "tranco")
      const wrong = yield* run(path, file, "--format", "majestic")
      expect(wrong.code).toBe(1)
      expect(wrong.stderr).toMatch(/^authority: the file is not in the format majestic; .*\n$/)
      yield* Effect.promise(() => writeFile(file, gzipSync("1,a.com\n").subarray(0, 20)))
      const cut = yield* run(path, file, "--format", "tranco")
      expect(cut.stderr).toMatch(/^authority: .* cannot be read: unexpected end of file\n$/)
      expect((yield* run(path, file, "--format", "alexa")).code).toBe(2)
    }),
  )
})
