/** The paths of the service and the methods that each path accepts. No path has parameters. */
import { Api } from "../contract/Api.ts"

interface Route {
  readonly path: string
  readonly methods: ReadonlyArray<string>
  /** The name of the contract's endpoint; undefined for pages and operator paths. */
  readonly endpoint?: string
}

export interface Routes {
  /** Finds the route of a URL. Ignores the query, letter case and extra slashes. */
  readonly of: (url: string) => Route | undefined
}

/**
 * Collects the contract's endpoints, and the further `paths`. Each of these `paths` accepts only
 * GET.
 */
export const make = (paths: ReadonlyArray<string>): Routes => {
  const routes = new Map<string, Route>(paths.map((path) => [path, { path, methods: ["GET"] }]))
  for (const { endpoints } of Object.values(Api.groups)) {
    for (const { method, name, path } of Object.values(endpoints)) {
      const methods = [...(routes.get(path)?.methods ?? []), method]
      routes.set(path, { path, methods, endpoint: name })
    }
  }
  return { of: (url) => routes.get(url) ?? routes.get(normalized(url)) }
}

const normalized = (url: string) =>
  (url.split("?", 1)[0] ?? "")
    .toLowerCase()
    .replaceAll(/\/+/g, "/")
    .replace(/(?<=.)\/$/, "")

/** Decodes the query of a URL. Of parameters with the same name, the last counts. */
export const queryOf = (url: string): Readonly<Record<string, string>> => {
  const start = url.indexOf("?")
  return start < 0 ? noQuery : Object.fromEntries(new URLSearchParams(url.slice(start)))
}

const noQuery = {}
