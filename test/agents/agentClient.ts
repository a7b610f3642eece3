/** Connects the MCP SDK's own client to a running service, in either revision of the protocol. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import * as Schema from "effect/Schema"
import { start as startService } from "../../src/testing/TestService.ts"

export const revisions = [
  ["2026-07-28", "auto"],
  ["2025-11-25", "legacy"],
] as const

export type Mode = (typeof revisions)[number][1]

export interface Options {
  readonly mode?: Mode
  readonly key?: string
  /** The user's answer to a question. When it is absent, the client cannot ask. */
  readonly user?: "accept" | "decline" | "cancel"
  /** True if the test answers the questions itself. */
  readonly isManual?: boolean
}

const adminToken = "a".repeat(32)

const NewKey = Schema.Struct({ data: Schema.Struct({ key: Schema.String }) })

/**
 * Starts a service that asks before it spends more than 3 credits, with the accounts `test` and
 * `other`.
 */
export const start = async (
  options: { readonly credits?: number; readonly settings?: Record<string, string> } = {},
) => {
  const service = await startService({
    credits: options.credits ?? 1000,
    settings: {
      AUTHORITY_ADMIN_TOKEN: adminToken,
      AUTHORITY_MCP_APPROVE_ABOVE: "3",
      ...options.settings,
    },
  })
  const admin = async (path: string, body: object) => {
    const response = await fetch(`${service.url}/admin/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    return response.json()
  }
  const newKey = async (terms: object, account = "test") =>
    Schema.decodeUnknownSync(NewKey)(await admin(`accounts/${account}/keys`, terms)).data.key
  await admin("accounts", { name: "other", credits: 100 })

  const connect = async ({ isManual = false, key = service.key, mode = "auto", user }: Options) => {
    const asked: Array<string> = []
    const client = new Client(
      { name: "test", version: "1" },
      {
        versionNegotiation: { mode },
        capabilities: user === undefined ? {} : { elicitation: { form: {} } },
        inputRequired: { autoFulfill: !isManual },
      },
    )
    if (user !== undefined) {
      client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params.message)
        return { action: user, ...(user === "accept" && { content: {} }) }
      })
    }
    const url = new URL(`${service.url}/mcp`)
    const requestInit = { headers: { authorization: `Bearer ${key}` } }
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
    const call = async (name: string, input: object) =>
      resultOf(await client.callTool({ name, arguments: { ...input } }))
    const check = async (urls: ReadonlyArray<string>, more: object = {}) =>
      call("check_authority", { urls, ...more })
    return { client, asked, call, check, [Symbol.asyncDispose]: () => client.close() }
  }
  /** The credits that the account `test` can still spend. */
  const available = async () => {
    await using agent = await connect({})
    return (await agent.call("get_balance", {})).availableCredits
  }
  return { ...service, newKey, connect, available }
}

const Result = Schema.Struct({
  code: Schema.optional(Schema.String),
  message: Schema.optional(Schema.String),
  quote: Schema.optional(Schema.String),
  retryAfterSeconds: Schema.optional(Schema.Number),
  maxCredits: Schema.optional(Schema.Number),
  creditsUsed: Schema.optional(Schema.Number),
  availableCredits: Schema.optional(Schema.Number),
  successUrls: Schema.optional(Schema.Array(Schema.Struct({ url: Schema.String }))),
  failedUrls: Schema.optional(
    Schema.Array(Schema.Struct({ url: Schema.String, reason: Schema.String })),
  ),
  unchecked: Schema.optional(
    Schema.Struct({ code: Schema.String, urls: Schema.Array(Schema.String) }),
  ),
})

const Call = Schema.Struct({
  content: Schema.Tuple(Schema.Struct({ text: Schema.parseJson() })),
  structuredContent: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  isError: Schema.optional(Schema.Boolean),
})

/** Returns the result of a call. Throws if its text and its structured content disagree. */
export const resultOf = (result: unknown) => {
  const { content, isError, structuredContent } = Schema.decodeUnknownSync(Call)(result)
  if (JSON.stringify(content[0].text) !== JSON.stringify(structuredContent)) {
    throw new Error("the text is not the structured content")
  }
  return { ...Schema.decodeUnknownSync(Result)(structuredContent), isError: isError === true }
}

export const urlsOf = (count: number, name = "example") =>
  Array.from({ length: count }, (_, i) => `${name}${i}.com`)
