/** What both processes of `authority doctor --prove` do: they reach the database and send requests. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { AccountId } from "../Account.ts"
import * as ConnectionFaults from "../prove/ConnectionFaults.ts"
import * as Traffic from "../prove/Traffic.ts"
import * as Sweeper from "../server/sweeper.ts"
import * as ConnectionString from "../sql/ConnectionString.ts"
import * as CreditLedger from "../sql/CreditLedger.ts"
import * as Heartbeat from "../sql/Heartbeat.ts"
import * as Postgres from "../sql/Postgres.ts"

export class CannotProve extends Data.TaggedError("CannotProve")<{ readonly message: string }> {}

/** The database of AUTHORITY_PROVE_URL. Only the environment may have its password. */
export const databaseUrl = Effect.suspend(() => {
  const url = process.env["AUTHORITY_PROVE_URL"]?.trim() ?? ""
  return /^postgres(ql)?:\/\//.test(url)
    ? Effect.succeed(url)
    : new CannotProve({
        message:
          "set AUTHORITY_PROVE_URL to the PostgreSQL database to examine: postgres://USER:PASSWORD@HOST:PORT/DATABASE",
      })
})

/** Adds the name of the application, and the schema for all unqualified names if there is one. */
export const pointed = (url: string, application: string, schema?: string) => {
  const former = Either.getOrUndefined(ConnectionString.parse(url))?.options ?? ""
  const parameters = new URLSearchParams({
    application_name: application,
    ...(schema !== undefined && { options: `${former} -c search_path=${schema}`.trim() }),
  })
  return Redacted.make(`${url}${url.includes("?") ? "&" : "?"}${parameters}`)
}

/** The longest lifetime of a hold. Here it is short, so that the proof ends soon. */
export const lease = "20 seconds"

const clientOn = (url: string, name: string, faults: ConnectionFaults.ConnectionFaults) =>
  Postgres.layer(pointed(url, name, name), { onStream: faults.attach })

/** A ledger that makes no commits but those that it is asked for. */
export const quietLedgerOn = (...where: Parameters<typeof clientOn>) =>
  Layer.provide(CreditLedger.layer({ lease }), clientOn(...where))

/** The ledger of a serving process, which also ends the holds of dead processes. */
export const servingLedgerOn = (...where: Parameters<typeof clientOn>) =>
  Sweeper.layer.pipe(
    Layer.provideMerge(CreditLedger.layer({ lease })),
    Layer.provide(Heartbeat.layer),
    Layer.provide(clientOn(...where)),
  )

/** Every how many COMMITs a process loses the answer. */
const lossInterval = 15

export interface Job {
  /** The name of the schema and of the application. */
  readonly name: string
  readonly accounts: ReadonlyArray<AccountId>
  readonly seconds: number
}

/** Sends requests for some seconds. From then on answers to COMMIT get lost. Returns how many did. */
export const traffic = (
  faults: ConnectionFaults.ConnectionFaults,
  { accounts, seconds }: Job,
  report: Traffic.Options["report"],
) =>
  Effect.suspend(() => {
    const end = performance.now() + seconds * 1000
    faults.loseAnswers(lossInterval)
    const goesOn = () => performance.now() < end
    return Effect.map(Traffic.run({ accounts, clients: 8, goesOn, report }), faults.lost)
  })
