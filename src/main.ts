/** The program: checks that it can run here at all, then hands over to the verb. */
import "./cli/nodeVersion.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as ExitStatus from "./cli/ExitStatus.ts"

const [verb, ...options] = process.argv.slice(2)
const isJson = options[0] === "--json"

// The parser of the command line is larger than all that `serve` needs, and a service that is
// started again is waited for: spelt plainly, it does without.
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

NodeRuntime.runMain(ExitStatus.told(program), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: ExitStatus.teardown,
})
