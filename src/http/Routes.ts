/** The paths of the service and the methods that each path accepts. */

interface Route {
  readonly path: string
  readonly methods: ReadonlyArray<string>
  /** The name of the contract's endpoint of each method; undefined for pages and operator paths. */
  readonly endpoints?: Readonly<Record<string, string>>
  /** The decoded parameters of the path, by name; undefined for a path without parameters. */
  readonly params?: Readonly<Record<string, string>>
}

export interface Routes {
  /** Finds the route of a URL. Ignores the query, letter case and extra slashes. */
  readonly of: (url: string) => Route | undefined
}

/** What this module reads of an API. */
export interface Api {
  readonly groups: Readonly<
    Record<
      string,
      {
        readonly endpoints: Readonly<
          Record<string, { readonly method: string; readonly name: string; readonly path: string }>
        >
      }
    >
  >
}

const endpointsOf = <A extends Api>({ groups }: A) =>
  Object.values(groups).flatMap(({ endpoints }) => Object.values(endpoints))

/**
 * Collects the endpoints of some APIs, and the further `paths`. Each of these `paths` accepts only
 * GET.
 */
export const make = (paths: ReadonlyArray<string>, ...apis: ReadonlyArray<Api>): Routes => {
  const routes = new Map<string, Route>(paths.map((path) => [path, { path, methods: ["GET"] }]))
  for (const { method, name, path } of apis.flatMap(endpointsOf)) {
    const { endpoints, methods = [] } = routes.get(path) ?? {}
    routes.set(path, {
      path,
      methods: [...methods, method],
      endpoints: { ...endpoints, [method]: name },
    })
  }
  const patterns = [...routes.values()].filter(({ path }) => path.includes("/:"))
  return {
    of: (url) => routes.get(url) ?? routes.get(normalized(url)) ?? matching(patterns, url),
  }
}

const pathOf = (url: string) =>
  (url.split("?", 1)[0] ?? "").replaceAll(/\/+/g, "/").replace(/(?<=.)\/$/, "")

const normalized = (url: string) => pathOf(url).toLowerCase()

/** Finds the pattern, such as `/accounts/:name`, that a URL matches. */
const matching = (patterns: ReadonlyArray<Route>, url: string): Route | undefined => {
  const parts = pathOf(url).split("/")
  for (const route of patterns) {
    const params = paramsOf(route.path.split("/"), parts)
    if (params !== undefined) return { ...route, params }
  }
  return undefined
}

const paramsOf = (steps: ReadonlyArray<string>, parts: ReadonlyArray<string>) => {
  if (steps.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, step] of steps.entries()) {
    const part = parts[index] ?? ""
    if (step.startsWith(":")) {
      const value = decoded(part)
      if (value === undefined || value === "") return undefined
      params[step.slice(1)] = value
    } else if (step !== part.toLowerCase()) return undefined
  }
  return params
}

const decoded = (part: string) => {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** Decodes the query of a URL. Of parameters with the same name, the last counts. */
export const queryOf = (url: string): Readonly<Record<string, string>> => {
  const start = url.indexOf("?")
  return start < 0 ? noQuery : Object.fromEntries(new URLSearchParams(url.slice(start)))
}

const noQuery = {}
