/** Configures the log: the format `pretty` for people, or JSON lines for programs. */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashSet from "effect/HashSet"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Predicate from "effect/Predicate"
import * as Str from "effect/String"
import { Settings } from "../Settings.ts"

/** Logs in the format and at the level that the settings name, to stderr or stdout. */
export const layer = (options: { readonly stderr: boolean }) =>
  Layer.scopedDiscard(
    Effect.flatMap(Settings, ({ logFormat, logLevel }) => {
      const stream = options.stderr ? process.stderr : process.stdout
      const isPretty = logFormat === "pretty" || (logFormat === "auto" && stream.isTTY)
      const toStream = options.stderr ? Logger.withConsoleError : Logger.withConsoleLog
      const logger = isPretty
        ? Logger.prettyLogger({ stderr: options.stderr })
        : toStream(jsonLogger)
      return Effect.zipRight(
        Effect.locallyScoped(FiberRef.currentLoggers, HashSet.make(logger)),
        Effect.locallyScoped(
          FiberRef.currentMinimumLogLevel,
          LogLevel.fromLiteral(Str.capitalize(logLevel)),
        ),
      )
    }),
  )

/** Logs each entry as one line of JSON in Effect's format, without empty fields. */
const jsonLogger = Logger.map(Logger.structuredLogger, (entry) =>
  Inspectable.stringifyCircular({
    ...withoutEmpty(entry),
    annotations: present(withoutEmpty(entry.annotations)),
  }),
)

const withoutEmpty = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => present(value) !== undefined))

// Returns undefined for null and for an object without fields. Returns any other value unchanged.
// The JSON of an object omits the fields that are undefined.
const present = (value: unknown): unknown =>
  value === null || (Predicate.isRecord(value) && Object.keys(value).length === 0)
    ? undefined
    : value
