/** Runs the tests under Deno, but for those that test how Node behaves. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

/** The others run the program as a process of Node, the last one for a browser. */
const projects = ["unit", "stores", "http"]

const tests = [
  // Deno's server leaves some of the requests that these generate without an answer.
  "requests one after another",
  "requests at the same time",
  // Deno's client sends a request again when a connection that was kept open is reset.
  "the token is in no error, no log and no trace",
  // Deno's server at times closes a connection whose body was not read, while the client is writing.
  "go on after a body that nobody read",
  // Deno does not report why a process of another user did not start.
  "says why it cannot start",
]

const { status } = spawnSync(
  "deno",
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
    ...process.argv.slice(2),
  ],
  { cwd: join(import.meta.dirname, ".."), stdio: "inherit" },
)
process.exit(status ?? 1)
