/** The schemas of what the stores keep. Their types are plain, because the client exports them. */
import * as v from "valibot"
import { Failure, type Schema, Success } from "../client/AnswerSchemas.ts"
import type * as Answers from "./Answers.ts"

export const Answer: Schema<Answers.Answer> = v.object({
  target: v.string(),
  outcome: v.union([Success, Failure]),
  at: v.number(),
  requestId: v.exactOptional(v.string()),
})

export const Batch: Schema<Answers.Batch> = v.object({
  key: v.string(),
  items: v.array(v.object({ url: v.string(), target: v.string() })),
  sentAt: v.number(),
  owner: v.string(),
})
