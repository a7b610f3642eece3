/** The entry point: checks the Node version, then runs the command. */
import "./nodeVersion.ts"
import "./cli/proxy.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as ExitStatus from "./cli/ExitStatus.ts"

const words = process.argv.slice(2)

// `serve` does without the command line parser, so that a restarted service is ready sooner.
const program = /^serve( --json)?$/.test(words.join(" "))
  ? Effect.flatMap(
      Effect.promise(() => import("./cli/serve.ts")),
      ({ serve }) => serve({ json: words.length === 2 }),
    )
  : Effect.flatMap(
      Effect.promise(() => import("./cli/Cli.ts")),
      ({ run }) => run(words),
    )

NodeRuntime.runMain(ExitStatus.printFailure(program), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: ExitStatus.teardown,
})
