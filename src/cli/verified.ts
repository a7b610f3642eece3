import * as Effect from "effect/Effect"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import * as Audit from "../ledger/Audit.ts"
import * as StoredAnswers from "../ledger/SqlStoredAnswers.ts"

/** Verifies the ledger and the stored answers of the database. */
export const verified = Effect.gen(function* () {
  const { verify } = yield* CreditLedger
  return Audit.withProblems(yield* verify, yield* StoredAnswers.problems)
})
