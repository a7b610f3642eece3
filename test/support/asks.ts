/** Requests of a client, and a provider that knows some of their URLs. */
import * as Effect from "effect/Effect"
import { type Outcome, providerFailed } from "../../src/check/Metrics.ts"
import { figure } from "../../scripts/support/fakeFigure.ts"
import { checked, failed, knowing } from "./ScriptedProvider.ts"
import { batchPath } from "./TestServer.ts"
import type * as RawHttp from "./RawHttp.ts"

const metrics = (page: string) => ({
  domainAuthority: figure(page, "domain"),
  pageAuthority: figure(page, "page") / 4,
  ...(figure(page, "has spam") > 50 && { spamScore: figure(page, "spam") }),
})

const known = (page: string): Outcome | undefined => {
  if (page.startsWith("known")) return checked(metrics(page))
  return page.startsWith("unrated") ? providerFailed("it is known to have no figures") : undefined
}

/** Makes a provider that knows some pages, buys others in a millisecond, and fails for some. */
export const newProvider = () =>
  knowing(known, (targets) => {
    const outcomes = targets.map(
      ({ page }) => known(page) ?? (page.startsWith("failing") ? failed : checked(metrics(page))),
    )
    return Effect.delay(Effect.succeed(outcomes), 1)
  })

export interface Ask {
  readonly path: string
  /** The key to send; undefined for the account's own key. */
  readonly apiKey?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly more?: Readonly<Record<string, string>>
  readonly body: string
}

/** An ordinary batch. */
export const plain = (...urls: ReadonlyArray<string>): Ask => ({
  path: batchPath,
  body: JSON.stringify({ urls }),
})

export const requestOf = (
  { apiKey, body, idempotencyKey, more, path }: Ask,
  key: string,
): RawHttp.Request => ({
  method: "POST",
  path,
  headers: {
    "x-api-key": apiKey ?? key,
    "content-type": "application/json",
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    ...more,
  },
  body,
})
