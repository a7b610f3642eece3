/** Serves the HTML pages: the console, the API reference and the guide. */
import { makeRoute } from "@effect/platform/HttpRouter"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { type Page, PagePath, read } from "./BuiltPage.ts"
import { failure } from "../errorAnswer.ts"

export const paths = PagePath.literals

export interface Options {
  readonly hasSyntheticFigures: boolean
  readonly hasAdministration: boolean
}

/** The root path, which redirects to one of the pages. */
export const rootPath = "/"

export const make = (options: Options) => [
  makeRoute("GET", rootPath, root),
  ...paths
    .filter((path) => options.hasAdministration || path !== operatorPath)
    .map((path) => makeRoute("GET", path, pageAt(path, options))),
]

export const consolePath = "/console"
const operatorPath = "/console/operator"

/** The pages of a server that serves only the administration. */
export const ofConsole = (options: Options) => [
  makeRoute(
    "GET",
    rootPath,
    HttpServerResponse.empty({ status: 302, headers: { location: "console/operator" } }),
  ),
  makeRoute("GET", consolePath, pageAt(consolePath, options)),
  makeRoute("GET", operatorPath, pageAt(operatorPath, options)),
]

const root = Effect.map(HttpServerRequest, (request) => {
  const isBrowser = request.headers["accept"]?.includes("text/html") === true
  return HttpServerResponse.empty({
    status: 302,
    headers: {
      location: isBrowser ? "console" : "docs",
      link: '<openapi.json>; rel="service-desc", <docs>; rel="service-doc"',
      vary: "accept",
    },
  })
})

const pageAt = (path: PagePath, options: Options) => {
  const page = loader(path, options)
  return Effect.flatMap(HttpServerRequest, (request) =>
    // Links in a page are relative, so that a proxy can serve it under any path. A slash at the end
    // of the path would break them, so the browser is redirected.
    /\/(\?|$)/.test(request.url)
      ? Effect.succeed(withoutSlash(path))
      : Effect.match(Effect.tryPromise(page), {
          onFailure: () => notBuilt,
          onSuccess: (page) => responseOf(page, request),
        }),
  )
}

// `location` is relative to the path with the slash.
const withoutSlash = (path: PagePath) =>
  HttpServerResponse.empty({
    status: 308,
    headers: { location: `../${path.slice(path.lastIndexOf("/") + 1)}` },
  })

// Reads a page once, when it is first requested.
const loader = (path: PagePath, options: Options) => {
  let page: Promise<Page> | undefined
  return () => (page ??= read(path, options))
}

const responseOf = (page: Page, request: HttpServerRequest) => {
  const headers = { ...safeguards, "content-security-policy": page.policy, etag: page.etag }
  if (request.headers["if-none-match"]?.includes(page.etag)) {
    return HttpServerResponse.empty({ status: 304, headers })
  }
  const contentType = "text/html; charset=utf-8"
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(request.headers["accept-encoding"] ?? "")
    ? HttpServerResponse.uint8Array(page.gzip, {
        headers: { ...headers, "content-encoding": "gzip" },
        contentType,
      })
    : HttpServerResponse.uint8Array(page.html, { headers, contentType })
}

// No other site may frame a page, control its window, or read its content.
const safeguards = {
  "cache-control": "no-cache",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  vary: "accept-encoding",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

const notBuilt = failure(
  503,
  "The pages are not built. Run 'npm run build:pages' in the source directory, and start the service again.",
)
