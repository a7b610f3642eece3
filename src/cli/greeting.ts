/**
 * Logs the address when the server listens, and warns of settings that the operator should change.
 * If this start has created the demo account, also prints its key.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Accounts } from "../accounts/Account.ts"
import { Listener } from "../http/NodeServer.ts"
import * as Settings from "../Settings.ts"
import { demoCredits, demoKey, demoName, demoRisk, isSandbox } from "./commands/demo.ts"
import { line } from "./Output.ts"

/**
 * When the server listens, logs its address and the warnings, then prints the key of a new demo
 * account on stdout. With `json`, prints a JSON document with the address, the provider and the key
 * instead.
 */
export const layer = ({ json }: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const { adminPort, adminToken, adminTokenFile, providers } = yield* Settings.Settings
    const provider = providers.join(",")
    const { url } = (yield* Listener).address()
    const isSecondStart = Option.isSome(yield* Effect.option((yield* Accounts).find(demoName)))
    const key = yield* demoKey(json)
    yield* Effect.logInfo(`Listening on ${url}, provider: ${provider}.`)
    yield* Effect.logInfo(`Console: ${url}/console, API reference: ${url}/docs`)
    for (const { name, nearest } of Settings.unknownNames(process.env)) {
      const hint =
        nearest === undefined
          ? "'authority doctor' lists the settings."
          : `Did you mean ${nearest}?`
      yield* Effect.logWarning(`The setting ${name} is unknown and has no effect. ${hint}`)
    }
    if (adminPort !== undefined && adminToken === undefined && adminTokenFile === undefined) {
      yield* Effect.logWarning(
        "AUTHORITY_ADMIN_PORT has no effect, because the administration is off. To turn it on, set AUTHORITY_ADMIN_TOKEN.",
      )
    }
    if (isSandbox(providers)) {
      yield* Effect.logWarning(
        "The sandbox's figures are synthetic. For real figures, set AUTHORITY_PROVIDER to another provider, and set the token or password of that provider.",
      )
      if (isSecondStart) {
        yield* Effect.logInfo(
          `The account ${demoName} exists. To make another key for it, run '${authority()} key create --account ${demoName}'.`,
        )
      }
    }
    if ((yield* (yield* Accounts).list).length === 0) {
      yield* Effect.logWarning(
        "There is no account yet. Run 'authority account create NAME --credits 1000' and 'authority key create --account NAME', in the same folder or with the same AUTHORITY_DATABASE_URL.",
      )
    }
    for (const { revoke, why } of Option.toArray(yield* demoRisk)) {
      yield* Effect.logWarning(
        `The key of the account ${demoName} still works, and ${why}, so whoever has the key spends credits that nobody paid for. Revoke it: ${revoke}`,
      )
    }
    const secret = Option.map(key, (issued) => Redacted.value(issued.key))
    const text = json
      ? Option.some(JSON.stringify({ url, provider, demoKey: Option.getOrNull(secret) }))
      : Option.map(secret, (secret) => invitation(url, secret))
    if (Option.isSome(text)) {
      yield* Effect.catchTag(line(text.value), "OutputFailed", ({ message }) =>
        // Without a key, only the address was lost, and the log has the address.
        Effect.forEach(Option.toArray(key), ({ record }) =>
          Effect.logWarning(
            `${message}. The demo key was not shown. Revoke it with 'authority key revoke ${record.id}', and create another with 'authority key create --account ${demoName}'.`,
          ),
        ),
      )
    }
    // A signal must not stop the program between creating the account and printing its key.
  }).pipe(Effect.uninterruptible, Layer.effectDiscard)

/** What a person types to run a command: `npm start` does not put `authority` on the path. */
const authority = () =>
  process.env["npm_package_name"] === "authority-metrics" ? "npm run -s authority --" : "authority"

/** This text contains the key, so it goes to stdout and never to the log. */
const invitation = (url: string, key: string) => `
The account ${demoName} has ${demoCredits} credits. This is its key, which is not shown again:

  ${key}

Try it:

  curl -s ${url}/v1/metrics/da-pa/batch -H 'x-api-key: ${key}' -H 'content-type: application/json' -d '{"urls":["example.com","https://www.wikipedia.org/wiki/Domain","localhost"]}'
`
