/** The log: pretty for people, JSON lines for programs. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { Settings } from "../Settings.ts"

/** By the settings; on stderr where stdout belongs to a verb's answer. */
export const layer = (options: { readonly stderr: boolean }) =>
  Effect.map(Settings, ({ logFormat, logLevel }) => {
    const stream = options.stderr ? process.stderr : process.stdout
    const isPretty = logFormat === "pretty" || (logFormat === "auto" && stream.isTTY)
    const toStream = options.stderr ? Logger.withConsoleError : Logger.withConsoleLog
    return Layer.merge(
      Logger.replace(
        Logger.defaultLogger,
        isPretty ? Logger.prettyLogger({ stderr: options.stderr }) : toStream(Logger.jsonLogger),
      ),
      Logger.minimumLogLevel(levels[logLevel]),
    )
  }).pipe(Layer.unwrapEffect)

const levels = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  fatal: LogLevel.Fatal,
  none: LogLevel.None,
}
