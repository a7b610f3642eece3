/** The entry point: checks the Node version, then runs the command. */
import "./cli/nodeVersion.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cli from "./cli/Cli.ts"
import * as ExitStatus from "./cli/ExitStatus.ts"

NodeRuntime.runMain(ExitStatus.printFailure(Cli.run(process.argv.slice(2))), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: ExitStatus.teardown,
})
