/** Runs the tests under Deno, except those that depend on Node. */
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { deno } from "./support/fullTests.ts"

const projects = ["unit", "stores", "http", "postgres", "program"]

const root = join(import.meta.dirname, "..")

/** Every folder and file of tests except `program`, which runs the program in a Node process. */
const places = readdirSync(join(root, "test")).filter((name) => name !== "program")

/**
 * Tests to skip, by a part of their name. The comments say why these tests fail under Deno. Change
 * the names here when you rename the tests.
 */
const tests = [
  // In this test, the fake Moz API resets a keep-alive connection. Deno's HTTP client then repeats
  // the request, so the fake Moz API gets more requests than the test expects.
  "no error and no log contains the Moz token",
  // The same happens here, after the service has given up a request.
  "a Moz index that never answers delays no second lookup",
  // In these tests, the server answers before it has read the body. Deno's server then closes the
  // connection while the client is still sending the body.
  "a 4.. reaches a client that sends 5 MB before it reads",
  "a body over 512 KiB gets 413",
  // Deno's TLS gives other errors for an unusable key and for a refused client certificate.
  "the client certificate .* is refused with advice",
]

const { status } = spawnSync(
  deno,
  [
    "run",
    "--allow-all",
    "--no-lock",
    "--node-modules-dir=manual",
    "node_modules/vitest/vitest.mjs",
    "run",
    "--config=.vitest.config.ts",
    ...projects.map((project) => `--project=${project}`),
    `--testNamePattern=^(?!.*(${tests.join("|")}))`,
    ...(process.argv.length > 2 ? process.argv.slice(2) : places.map((name) => `test/${name}`)),
  ],
  { cwd: root, stdio: "inherit" },
)
process.exit(status ?? 1)
