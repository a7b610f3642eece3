/** The spending gate: a check that may cost much needs the user's approval of a signed quote. */
import { hash, randomUUID } from "node:crypto"
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type { AccountId } from "../accounts/Account.ts"
import { AuthorityCheck } from "../check/AuthorityCheck.ts"
import * as Batch from "../check/Batch.ts"
import { counted } from "../contract/counted.ts"
import * as Balance from "../ledger/Balance.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { Problem } from "./InProcess.ts"
import { QuoteSecret } from "./QuoteSecret.ts"

export interface Options {
  /** The credits for one successful check. */
  readonly price: number
  /** Checks that may cost more credits than this need the user's approval. */
  readonly approveAbove: number
}

export interface Asked {
  readonly urls: ReadonlyArray<string>
  readonly max_credits?: number
  readonly name?: string
  readonly approval?: string
}

const quoteSeconds = 600

/**
 * Makes the gate, which neither holds nor charges credits. It returns either the name that makes a
 * repeat of the check free, or the question for the user. A quote is the name of its check, so it
 * pays for the check only once.
 */
export const make = (options: Options) =>
  Effect.gen(function* () {
    const useCase = yield* AuthorityCheck
    const ledger = yield* CreditLedger
    const codec = Effect.map((yield* QuoteSecret).read, (secret) =>
      createRequestStateCodec<{ id: string; terms: string; price: number }>({
        key: Redacted.value(secret),
        ttlSeconds: quoteSeconds,
      }),
    )

    return (asked: Asked, account: AccountId, context: ServerContext) =>
      Effect.gen(function* () {
        const { approval, max_credits: limit, name, urls } = asked
        const list = Batch.parse(urls)
        const price = options.price * list.targets.length
        if (limit !== undefined && price > limit) return yield* overLimit(price, limit)
        if (approval === undefined && price <= options.approveAbove) return { name }
        const { mint, verify } = yield* codec
        // If the client asks the user itself, an agent must not use the client's quote as an
        // approval.
        const termsOf = (approvedBy: "agent" | "client") =>
          hash("sha256", JSON.stringify([approvedBy, account, name ?? null, urls]))
        const quote = (terms: string) =>
          Effect.promise(() => mint({ id: randomUUID(), terms, price }))
        const named = (text: string, terms: string) =>
          Effect.tryPromise({ try: () => verify(text, context), catch: unverified }).pipe(
            Effect.filterOrFail(
              (signed) => signed.terms === terms && signed.price >= price,
              () => invalid,
            ),
            Effect.map(({ id }) => ({ name: name ?? `quote ${id}` })),
          )

        if (approval !== undefined) return yield* named(approval, termsOf("agent"))
        const state = context.mcpReq.requestState()
        const canAsk = canAskUser(context)
        if (canAsk && typeof state === "string") {
          const passed = yield* named(state, termsOf("client"))
          const response = inputResponse(context.mcpReq.inputResponses, "approve")
          const isAccepted = response.kind === "elicit" && response.action === "accept"
          return isAccepted ? passed : yield* declined
        }
        const { summary } = yield* useCase.preview(list)
        const available = Effect.map(ledger.balance(account), Balance.available)
        const credits = yield* Effect.mapError(available, () => noBalance)
        const message =
          `Check ${counted(list.targets.length, "URL")} for at most ${counted(price, "credit")}? ` +
          `The account has ${counted(credits, "credit")}. ` +
          `${summary.known} are known, ${summary.toBuy} must be bought.`
        if (!canAsk) {
          return yield* new Problem({
            code: "approval_needed",
            message: `${message} Ask the user, then repeat the call with this quote as approval.`,
            maxCredits: price,
            quote: yield* quote(termsOf("agent")),
          })
        }
        const approve = inputRequired.elicit({
          message,
          requestedSchema: { type: "object", properties: {} },
        })
        const requestState = yield* quote(termsOf("client"))
        return inputRequired({ inputRequests: { approve }, requestState })
      })
  })

/** Clients of the 2025 protocol cannot be asked, because there is no session to ask them in. */
const canAskUser = ({ mcpReq: { envelope } }: ServerContext) => {
  if (!Predicate.hasProperty(envelope, CLIENT_CAPABILITIES_META_KEY)) return false
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY]
  if (!Predicate.hasProperty(capabilities, "elicitation")) return false
  const { elicitation } = capabilities
  return Predicate.hasProperty(elicitation, "form") || !Predicate.hasProperty(elicitation, "url")
}

const overLimit = (price: number, limit: number) =>
  new Problem({
    code: "over_max_credits",
    message: `The check may cost ${counted(price, "credit")}, and max_credits is ${limit}.`,
    maxCredits: price,
  })

const unverified = (error: unknown) =>
  error instanceof Error && error.message === "expired" ? expired : invalid

const expired = new Problem({
  code: "approval_expired",
  message: "The approval has expired; repeat the call without it for a new quote.",
})

const invalid = new Problem({
  code: "approval_invalid",
  message: "The approval is not for this check; repeat the call without it for a new quote.",
})

const declined = new Problem({
  code: "declined",
  message: "The user declined the check; nothing is charged.",
})

const noBalance = new Problem({
  code: "unavailable",
  message: "The database did not answer in time; try again in a while.",
})
