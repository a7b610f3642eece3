/** As test/program/ProviderReport.test.ts, on PostgreSQL. */
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { reportBesideBill } from "../support/reportBesideBill.ts"
import { temporaryDatabase } from "../support/Stores.ts"

it.scopedLive(
  "the report on PostgreSQL equals the vendor's own bill over a thousand calls with every kind of fault",
  () =>
    Effect.flatMap(temporaryDatabase, (url) =>
      reportBesideBill(1000, { AUTHORITY_DATABASE_URL: Redacted.value(url) }),
    ),
  400_000,
)
