/** Gives a trace span to each call of AuthorityCheck and CreditLedger during an HTTP request. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AuthorityCheck } from "../../check/AuthorityCheck.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"

export const authorityCheck: Layer.Layer<AuthorityCheck, never, AuthorityCheck> = Layer.effect(
  AuthorityCheck,
  Effect.map(AuthorityCheck, ({ check, preview }) =>
    AuthorityCheck.of({
      preview: (...args) => Effect.withSpan(preview(...args), "AuthorityCheck.preview"),
      check: (request) => Effect.withSpan(check(request), "AuthorityCheck.check"),
    }),
  ),
)

export const creditLedger: Layer.Layer<CreditLedger, never, CreditLedger> = Layer.effect(
  CreditLedger,
  Effect.map(CreditLedger, (ledger) =>
    CreditLedger.of({
      ...ledger,
      balance: (account) => Effect.withSpan(ledger.balance(account), "CreditLedger.balance"),
      open: (hold) => Effect.withSpan(ledger.open(hold), "CreditLedger.open"),
      settle: (...args) => Effect.withSpan(ledger.settle(...args), "CreditLedger.settle"),
      charge: (...args) => Effect.withSpan(ledger.charge(...args), "CreditLedger.charge"),
      release: (hold) => Effect.withSpan(ledger.release(hold), "CreditLedger.release"),
    }),
  ),
)
