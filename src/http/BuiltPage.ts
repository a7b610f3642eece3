/** Reads a built page and prepares it for serving: compresses the page and computes its ETag. */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as Schema from "effect/Schema"
import { PagePath } from "./PagePath.ts"

export interface Page {
  readonly html: string
  readonly gzip: Uint8Array
  /** The page's Content-Security-Policy, with the hashes of its scripts and styles. */
  readonly policy: string
  readonly etag: string
}

const Built = Schema.Struct({ html: Schema.String, policy: Schema.String })

export const Pages = Schema.Record({ key: PagePath, value: Built })
export type Pages = typeof Pages.Type

/**
 * The pages as JSON, which the build inlines. Undefined when the program runs from its sources. The
 * program then reads `dist/pages.json`.
 */
declare const PAGES: string | undefined

/** Reads one page. Rejects when the pages are not built. */
export const read = async (
  path: PagePath,
  options: { readonly hasSyntheticFigures: boolean },
): Promise<Page> => {
  const built = await Schema.decodeUnknownPromise(Schema.parseJson(Pages))(
    typeof PAGES === "undefined"
      ? await readFile(join(import.meta.dirname, "../../dist/pages.json"), "utf8")
      : PAGES,
  )
  const { html: text, policy } = built[path]
  const html = options.hasSyntheticFigures
    ? text.replace("<html", '<html data-figures="synthetic"')
    : text
  const hash = createHash("sha256").update(html).digest("base64url")
  // A weak ETag, because the plain body and the gzip body share it.
  return { html, gzip: gzipSync(html, { level: 9 }), policy, etag: `W/"${hash}"` }
}
