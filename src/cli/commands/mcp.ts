/**
 * Serves agents over stdin and stdout, for clients that can only start programs: forwards each
 * message to the service, and prints its answer.
 */
import { createInterface } from "node:readline"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { optional } from "../../contract/fields.ts"
import { line } from "../Output.ts"
import * as Command from "../Command.ts"

export const command = Command.make({
  examples: ["authority mcp --url https://service.example.com"],
  declare: Command.ofClient,
  options: Schema.Struct(Command.client),
  run: ({ key, url }) =>
    Stream.fromAsyncIterable(
      createInterface({ input: process.stdin }),
      () => new Error("stdin"),
    ).pipe(
      Stream.filter((text) => text.trim() !== ""),
      // An agent may call several tools at once.
      Stream.mapEffect(
        (text) =>
          Effect.flatMap(answersTo(text, new URL(url), key), (answers) =>
            Effect.forEach(answers, line),
          ),
        {
          concurrency: "unbounded",
          unordered: true,
        },
      ),
      Stream.runDrain,
    ),
})

/** Returns the lines that answer a message. A notification has none. */
const answersTo = (text: string, url: URL, key: Redacted.Redacted<string>) => {
  const { id, method, params } = Option.getOrElse(decode(text), (): typeof Message.Type => ({}))
  const version = params?._meta?.[versionKey]
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "x-api-key": Redacted.value(key),
    // The 2026 revision of the protocol repeats these values in headers.
    ...(version !== undefined && {
      "mcp-protocol-version": String(version),
      ...(method !== undefined && { "mcp-method": method }),
      ...(params?.name !== undefined && { "mcp-name": params.name }),
    }),
  }
  const path = `${url.href.replace(/\/$/, "")}/mcp`
  return Effect.tryPromise(async () => {
    const response = await fetch(path, { method: "POST", headers, body: text })
    return linesOf(await response.text())
  }).pipe(
    Effect.orElseSucceed(() => `cannot reach the service at ${url.href}`),
    Effect.map((answer) => {
      if (typeof answer !== "string") return answer
      return id === undefined ? [] : [errorOf(id, answer)]
    }),
  )
}

const versionKey = "io.modelcontextprotocol/protocolVersion"

const Message = Schema.Struct({
  id: optional(Schema.Union(Schema.String, Schema.Number)),
  method: optional(Schema.String),
  params: optional(
    Schema.Struct({
      name: optional(Schema.String),
      _meta: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
    }),
  ),
})

const decode = Schema.decodeUnknownOption(Schema.parseJson(Message))

const decodeRefusal = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Struct({ success: Schema.Literal(false), message: Schema.String })),
)

/** Returns the messages in a body of JSON or server-sent events, or the message of a refusal. */
const linesOf = (body: string) =>
  Option.match(decodeRefusal(body), {
    onSome: ({ message }) => message,
    onNone: () =>
      body
        .split("\n")
        .map((text) => text.replace(/^data: ?/, ""))
        .filter((text) => text.startsWith("{")),
  })

const errorOf = (id: string | number, message: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_603, message } })
