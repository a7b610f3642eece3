/** The five tools that agents have. */
import { hash } from "node:crypto"
import {
  fromJsonSchema,
  isInputRequiredResult,
  type jsonSchemaValidator,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { AccountKey } from "../accounts/ApiKeys.ts"
import { AuthorityCheck } from "../check/AuthorityCheck.ts"
import * as Batch from "../check/Batch.ts"
import { remainingMs, within } from "../check/Deadline.ts"
import { internalErrorMessage, InvalidRequest } from "../contract/Envelope.ts"
import * as Issues from "../contract/Issues.ts"
import { maxUrls } from "../contract/Limits.ts"
import * as Wire from "../contract/Wire.ts"
import * as Gate from "./Gate.ts"
import * as InProcess from "./InProcess.ts"
import * as Shapes from "./Shapes.ts"

export interface Options extends Gate.Options {
  readonly requestTimeout: Duration.DurationInput
}

/** The request in which a tool is called. */
export interface Caller {
  readonly key: AccountKey
  readonly secret: Redacted.Redacted<string>
  readonly run: <A>(effect: Effect.Effect<A>) => Promise<A>
}

/**
 * The version, which the bundler defines. It is not defined when the program runs from its sources.
 */
declare const VERSION: string | undefined
const version = typeof VERSION === "undefined" ? "0" : VERSION

/** Makes a function that makes the MCP server for one request. */
export const make = (api: HttpApp.Default<unknown>, options: Options) =>
  Effect.gen(function* () {
    const useCase = yield* AuthorityCheck
    const pass = yield* Gate.make(options)
    const send = InProcess.make(api)
    const register = [
      tool(
        "check_authority",
        "Domain and page authority (0-100) of URLs. Each success costs credits.",
        Shapes.check,
        (asked, call, { key }, context) =>
          Effect.gen(function* () {
            const passed = yield* pass(asked, key.accountId, context)
            if (isInputRequiredResult(passed)) return passed
            return yield* checkAll(call, asked.urls, passed.name, options.requestTimeout)
          }),
      ),
      tool(
        "preview_check",
        "What check_authority would do and cost. Free.",
        Shapes.previewed,
        ({ urls }, call) =>
          Effect.gen(function* () {
            const { availableCredits, budget } = yield* balanceOf(call)
            const { entries, maxCredits, summary } = yield* useCase.preview(Batch.parse(urls))
            const most = Math.min(availableCredits, budget?.remaining ?? availableCredits)
            return {
              entries,
              summary,
              maxCredits,
              availableCredits,
              affordable: maxCredits <= most,
            }
          }),
      ),
      tool(
        "get_balance",
        "Credits of the account, and the budget of this key.",
        Shapes.balance,
        (_, call) => balanceOf(call),
      ),
      tool(
        "get_history",
        "Past figures of a URL, newest first. Free.",
        Shapes.history,
        (query, call) => call({ path: Wire.historyPath, query }),
      ),
      tool("get_usage", "What the account used, by day or key.", Shapes.usage, (query, call) =>
        call({ path: Wire.usagePath, query }),
      ),
    ]
    return (caller: Caller) => {
      const server = new McpServer(
        { name: "authority-metrics", version },
        { capabilities: { tools: { listChanged: false } } },
      )
      const call = send(Redacted.value(caller.secret))
      for (const add of register) add(server, caller, call)
      return server
    }
  })

type Call = ReturnType<ReturnType<typeof InProcess.make>>

/**
 * Checks batches one after another. When one is refused or the call's time is over, returns the
 * remaining URLs with the reason. Fails when the first batch is refused.
 */
const checkAll = (
  call: Call,
  urls: ReadonlyArray<string>,
  name: string | undefined,
  timeout: Duration.DurationInput,
) =>
  Effect.gen(function* () {
    const sum = { successUrls: [], failedUrls: [], creditsUsed: 0 }
    let checked: typeof Shapes.check.output.Type = sum
    for (const [i, batch] of Arr.chunksOf(urls, maxUrls).entries()) {
      const headers = name && { "idempotency-key": `mcp-${hash("sha256", name)}-${i}` }
      const asked = { path: Wire.batchPath, body: { urls: batch }, ...(headers && { headers }) }
      const isLate = i > 0 && (yield* remainingMs) <= 0
      const answer = yield* Effect.either(
        isLate ? outOfTime : within(Duration.toMillis(timeout))(call(asked)),
      )
      if (Either.isLeft(answer)) {
        if (i === 0) return yield* answer.left
        const { code, message } = answer.left
        return { ...checked, unchecked: { code, message, urls: urls.slice(i * maxUrls) } }
      }
      const more = decodeChecked(answer.right)
      checked = {
        successUrls: [...checked.successUrls, ...more.successUrls],
        failedUrls: [...checked.failedUrls, ...more.failedUrls],
        creditsUsed: checked.creditsUsed + more.creditsUsed,
      }
    }
    return checked
  })

const decodeChecked = Schema.decodeUnknownSync(Shapes.check.output)

const outOfTime = new InProcess.Problem({
  code: "out_of_time",
  message: "The call took too long; check the remaining urls in another call.",
})

const balanceOf = (call: Call) =>
  Effect.zipWith(call({ path: Wire.creditsPath }), call({ path: Wire.keyPath }), (credits, key) =>
    decodeBalance({ ...credits, budget: key["budget"] }),
  )

const decodeBalance = Schema.decodeUnknownSync(Shapes.balance.output)

const tool = <Input, InputJson>(
  name: string,
  description: string,
  shape: {
    readonly input: Schema.Schema<Input, InputJson>
    readonly output: Schema.Schema.AnyNoContext
  },
  act: (
    input: Input,
    call: Call,
    caller: Caller,
    context: ServerContext,
  ) => Effect.Effect<object, InProcess.Problem>,
) => {
  // Unlike the HTTP API, a tool accepts more URLs than `Issues.decoder` checks.
  const decode = ParseResult.decodeUnknown(shape.input)
  const { inputSchema, outputSchema } = Shapes.jsonSchemasOf(shape)
  const config = {
    description,
    inputSchema: fromJsonSchema(inputSchema, unchecked),
    outputSchema: fromJsonSchema(outputSchema, unchecked),
    annotations: { readOnlyHint: name !== "check_authority" },
  }
  return (server: McpServer, caller: Caller, call: Call) =>
    server.registerTool(name, config, (input, context) =>
      Effect.suspend(() => decode(input)).pipe(
        Effect.mapError((issue) => {
          const { message } = InvalidRequest.because(Issues.fromParseIssue(issue), false)
          return new InProcess.Problem({ code: "invalid_request", message })
        }),
        Effect.flatMap((decoded) => act(decoded, call, caller, context)),
        Effect.map((result) => (isInputRequiredResult(result) ? result : answer(result))),
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(Effect.logError("A tool failed.", Cause.die(defect)), internal),
        ),
        Effect.catchAll(({ _tag, message, ...rest }) =>
          Effect.succeed({ ...answer({ ...rest, message }), isError: true }),
        ),
        caller.run,
      ),
    )
}

const internal = new InProcess.Problem({ code: "internal", message: internalErrorMessage })

/**
 * Accepts everything, because each tool decodes its input itself and, like the HTTP API, names
 * every violation.
 */
const unchecked: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
}

const answer = (document: object) => ({
  content: [{ type: "text" as const, text: JSON.stringify(document) }],
  structuredContent: { ...document },
})
