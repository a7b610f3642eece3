/** The client for programs that do not use Effect: promises, `AbortSignal` and error classes. */
import { v4 as uuid } from "uuid"
import {
  batchPath,
  creditsPath,
  historyPath,
  keyPath,
  previewPath,
  statementPath,
  usagePath,
} from "../contract/Wire.ts"
import * as AnswerSchemas from "./AnswerSchemas.ts"
import { checkAll as checkEach } from "./checkAll.ts"
import type * as ClientTypes from "./ClientTypes.ts"
import { exchange } from "./Exchange.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Request from "./Request.ts"

export * from "./ClientError.ts"
export type {
  CallOptions,
  CheckAllOptions,
  CheckOptions,
  History,
  HistoryOptions,
  Key,
  Options,
  PreviewOptions,
  Progress,
  Statement,
  StatementOptions,
  Usage,
  UsageOptions,
} from "./ClientTypes.ts"
export { memoryAnswers } from "../lists/Answers.ts"
export type { Answer, Answers, Batch, Payer } from "../lists/Answers.ts"
export type { CheckResult, Failure, Outcome, Preview, PreviewEntry, Success } from "./Outcomes.ts"
export type { Observation, Provenance, StatementEntry, UsageRow } from "../contract/Wire.ts"

export type AuthorityMetrics = ClientTypes.AuthorityMetrics

/**
 * Makes a client, without sending anything. Throws `InvalidBaseUrl` for an invalid base URL, and
 * `TypeError` for an invalid header.
 */
export const AuthorityMetrics = (options: ClientTypes.Options): AuthorityMetrics => {
  const send = exchange(options)
  const credentials = { service: Request.baseUrlOf(options.baseUrl), apiKey: options.apiKey }

  const check: AuthorityMetrics["check"] = async (
    urls,
    { idempotencyKey = uuid(), signal, ...options } = {},
  ) => {
    const json = { urls: urls.filter(Outcomes.isAdmissible) }
    if (urls.length > 0 && json.urls.length === 0) return Outcomes.unsent(urls, options.provenance)
    const headers = Request.batchHeaders({ idempotencyKey, ...options })
    const { answer, body } = await send(
      { path: batchPath, json, headers, signal },
      AnswerSchemas.BatchAnswer,
    )
    return Outcomes.resultOf(urls, body, answer, options.provenance)
  }

  const read = async <Data>(
    path: string,
    schema: AnswerSchemas.Schema<{ readonly data: Data }>,
    signal: AbortSignal | undefined,
    parameters: Request.Parameters = {},
  ) => (await send({ path: path + Request.queryOf(parameters), signal }, schema)).body.data

  const availableCredits: AuthorityMetrics["availableCredits"] = async ({ signal } = {}) =>
    (await read(creditsPath, AnswerSchemas.CreditsAnswer, signal)).availableCredits

  const key: AuthorityMetrics["key"] = ({ signal } = {}) =>
    read(keyPath, AnswerSchemas.KeyAnswer, signal)

  const history: AuthorityMetrics["history"] = (url, { limit, signal } = {}) =>
    read(historyPath, AnswerSchemas.HistoryAnswer, signal, { url, limit })

  const usage: AuthorityMetrics["usage"] = ({ by, since, until, signal } = {}) =>
    read(usagePath, AnswerSchemas.UsageAnswer, signal, { by, since, until })

  const statement: AuthorityMetrics["statement"] = ({ before, limit, signal } = {}) =>
    read(statementPath, AnswerSchemas.StatementAnswer, signal, { limit, before })

  const preview: AuthorityMetrics["preview"] = async (urls, { maxAgeSeconds, signal } = {}) => {
    const json = { urls: Outcomes.sentFor(urls) }
    const headers = Request.freshness(maxAgeSeconds)
    const { body } = await send(
      { path: previewPath, json, headers, signal },
      AnswerSchemas.PreviewAnswer,
    )
    return Outcomes.previewOf(urls, body)
  }

  const checkAll: AuthorityMetrics["checkAll"] = (urls, options) =>
    checkEach({ check, key, preview }, credentials, urls, options)

  return { check, checkAll, preview, history, usage, statement, availableCredits, key }
}
