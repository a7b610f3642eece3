/** The entry point: checks the Node version, then runs the command. */
import "./cli/nodeVersion.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as ExitStatus from "./cli/ExitStatus.ts"

const [verb, ...options] = process.argv.slice(2)
const isJson = options[0] === "--json"

// `serve`, alone or with `--json`, does not load the command-line parser, which is larger than the
// rest of the program. So a restarted service is ready sooner.
const program =
  verb === "serve" && options.length === (isJson ? 1 : 0)
    ? Effect.flatMap(
        Effect.promise(() => import("./cli/serve.ts")),
        ({ serve }) => serve({ json: isJson }),
      )
    : Effect.flatMap(
        Effect.promise(() => import("./cli/Cli.ts")),
        ({ run }) => run(process.argv),
      )

NodeRuntime.runMain(ExitStatus.printFailure(program), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: ExitStatus.teardown,
})
