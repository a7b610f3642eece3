/**
 * Reads a page that the build made, and prepares it for serving: compresses it and computes its
 * ETag.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import * as Schema from "effect/Schema"

/** The paths of the HTML pages, each of which the build makes. */
export const PagePath = Schema.Literal(
  "/console",
  "/console/operator",
  "/docs",
  "/docs/guide/agents",
  "/docs/guide/changes",
  "/docs/guide/client",
  "/docs/guide/contributing",
  "/docs/guide/design",
  "/docs/guide/ledger",
  "/docs/guide/monitoring",
  "/docs/guide/operating",
  "/docs/guide/postgresql",
  "/docs/guide/providers",
  "/docs/guide/simulation",
  "/docs/guide/speed",
)
export type PagePath = typeof PagePath.Type

/** A page ready to be served. */
export interface Page {
  readonly html: Uint8Array
  readonly gzip: Uint8Array
  /** The page's Content-Security-Policy, with the hashes of its scripts. */
  readonly policy: string
  readonly etag: string
}

export const BuiltPage = Schema.Struct({ html: Schema.String, policy: Schema.String })
export type BuiltPage = typeof BuiltPage.Type

/** The name of a page's file below `dist`, and of the same asset in the executable. */
export const fileOf = (path: PagePath) => `pages${path}.json`

/**
 * The path from a bundle to the build folder. The bundler defines it; it is not defined when the
 * program runs from its sources.
 */
declare const DIST: string | undefined

/** Reads one page. Rejects when the pages are not built. */
export const read = async (
  path: PagePath,
  options: { readonly hasSyntheticFigures: boolean },
): Promise<Page> => {
  const { html: text, policy } = await Schema.decodeUnknownPromise(Schema.parseJson(BuiltPage))(
    await load(fileOf(path)),
  )
  const mark = options.hasSyntheticFigures ? ' data-figures="synthetic"' : ""
  const html = Buffer.from(text.replace("<html", `<html${mark}`))
  const hash = createHash("sha256").update(html).digest("base64url")
  // A weak ETag, because the plain body and the gzip body share it.
  return { html, gzip: await promisify(gzip)(html), policy, etag: `W/"${hash}"` }
}

const load = async (file: string) => {
  const sea = process.getBuiltinModule("node:sea")
  if (sea?.isSea()) return sea.getAsset(file, "utf8")
  const dist = typeof DIST === "undefined" ? "../../../dist" : DIST
  return readFile(join(import.meta.dirname, dist, file), "utf8")
}
