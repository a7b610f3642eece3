import * as Effect from "effect/Effect"
import { AuditLog } from "../AuditLog.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as Audit from "../ledger/Audit.ts"
import * as StoredAnswers from "../sql/StoredAnswers.ts"

/** Verifies the ledger, the stored answers and the audit log of the database. */
export const verified = Effect.gen(function* () {
  const { verify } = yield* CreditLedger
  const verification = Audit.withProblems(yield* verify, yield* StoredAnswers.problems)
  const log = yield* Effect.flatMap(AuditLog, ({ verify }) => verify)
  return { ...Audit.withProblems(verification, log.problems), lines: log.lines }
})
