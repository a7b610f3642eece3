/** Compares the errors of the fast path with those of the router. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import { InternalServerError, internalErrorMessage } from "../../src/contract/Envelope.ts"
import { CreditLedger } from "../../src/CreditLedger.ts"
import * as errorAnswer from "../../src/http/errorAnswer.ts"
import type { Refusal } from "../../src/ledger/Books.ts"
import { InsufficientCredits } from "../../src/ledger/Hold.ts"
import { IdempotencyKeyInUse, IdempotencyKeyReused } from "../../src/ledger/IdempotencyKey.ts"
import { RequestId } from "../../src/RequestId.ts"
import { StoreTimeout } from "../../src/StoreTimeout.ts"
import { start } from "../support/ServiceInMode.ts"
import { forAll } from "../support/properties.ts"
import { newProvider, plain, requestOf } from "../support/randomRequests.ts"

const request = { requestId: RequestId.make("request-1"), idempotencyKey: undefined }

const refusal: fc.Arbitrary<Refusal | StoreTimeout> = fc.oneof(
  fc
    .record({ required: fc.maxSafeNat(), available: fc.maxSafeNat() })
    .map((credits) => new InsufficientCredits(credits)),
  fc.constant(new IdempotencyKeyReused()),
  fc.constant(new IdempotencyKeyInUse()),
  fc.constant(new StoreTimeout({ mayCharge: false })),
)

/** The error with which every charge of the router's ledger ends. */
let outcome: Effect.Effect<never, Refusal | StoreTimeout>

/** Starts a service without the fast path. Returns a request whose charge ends with `outcome`. */
const router = Effect.gen(function* () {
  const service = yield* start("router", {
    provider: newProvider().layer,
    replace: (layers) => {
      const ledger = Context.get(layers, CreditLedger)
      const charge = () => Effect.suspend(() => outcome)
      return Context.add(layers, CreditLedger, { ...ledger, charge })
    },
  })
  const { key } = yield* service.newClient(1)
  return Effect.map(
    service.send(requestOf(plain("known-1.example.com"), key)),
    ({ status, text }) => [status, text] as const,
  )
})

it.scopedLive(
  "a request that the ledger refuses or does not decide in time gets the same status and body from the fast path as from the router",
  () =>
    Effect.gen(function* () {
      const answer = yield* router
      yield* forAll(refusal, { numRuns: 15 }, (refusal) =>
        Effect.gen(function* () {
          outcome = Effect.fail(refusal)
          const { body, status } = errorAnswer.of(errorAnswer.errorOf(refusal, request))
          assert.deepStrictEqual([status, body], yield* answer)
        }),
      )
    }),
)

it.scopedLive(
  "after an unexpected error (a defect), the fast path answers with the same status and body as the router",
  () =>
    Effect.gen(function* () {
      const answer = yield* router
      outcome = Effect.dieMessage("a bug")
      const error = new InternalServerError({ message: internalErrorMessage })
      const { body, status } = errorAnswer.of(error)
      assert.deepStrictEqual([status, body], yield* answer)
    }),
)
