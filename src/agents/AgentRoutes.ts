/** The routes of the MCP server for agents, whose code is loaded at the first request. */
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as Effect from "effect/Effect"
import type * as Routes from "../http/Routes.ts"
import type { make, Options } from "./Door.ts"

/** `contract` are the routes that the tools call. */
export const routes = (options: Options) => (contract: ReadonlyArray<Routes.Route>) =>
  Effect.gen(function* () {
    const services = yield* Effect.context<Effect.Effect.Context<ReturnType<typeof make>>>()
    const api = yield* HttpRouter.toHttpApp(
      HttpRouter.fromIterable(contract.map(({ route }) => route)),
    )
    const door = yield* Effect.promise(() => import("./Door.ts")).pipe(
      Effect.flatMap(({ make }) => make(api, options)),
      Effect.provide(services),
      Effect.cached,
    )
    const route = HttpRouter.makeRoute("POST", "/mcp", Effect.flatten(door))
    return [{ route, endpoint: "mcp" }]
  })
