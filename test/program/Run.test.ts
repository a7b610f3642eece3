/** Tests `run` of `authority-metrics/server`, which runs a program and ends its process. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

describe("the function run of authority-metrics/server", () => {
  const lineOf = async (failure: string) => {
    const program = `
      import * as Data from "effect/Data"
      import * as Layer from "effect/Layer"
      import { run } from "./src/server/Service.ts"
      run(Layer.fail(${failure}))
    `
    const args = ["--input-type=module-typescript", "--eval", program]
    const ended = promisify(execFile)(process.execPath, args).catch((error: unknown) => error)
    return String(Object(await ended).stderr)
  }

  it("run prints the failure of the host program's layer in one line, even if it has no message", async () => {
    assert.strictEqual(await lineOf('new Error("a\\nb")'), "authority-metrics: a b\n")
    const tagged = 'new (Data.TaggedError("ServeError"))'
    assert.strictEqual(await lineOf(`${tagged}()`), "authority-metrics: ServeError\n")
    assert.strictEqual(
      await lineOf(`${tagged}({ cause: new Error("the port is taken") })`),
      "authority-metrics: ServeError: the port is taken\n",
    )
  })
})
