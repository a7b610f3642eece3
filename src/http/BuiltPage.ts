/** A page as the build made it, made ready to be sent. */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as Schema from "effect/Schema"

export interface Page {
  readonly html: string
  readonly gzip: Uint8Array
  /** Its Content-Security-Policy, with the hashes of what it may run and show. */
  readonly policy: string
  readonly etag: string
}

const Built = Schema.Struct({ html: Schema.String, policy: Schema.String })

export const Pages = Schema.Struct({ console: Built, docs: Built })
export type Pages = typeof Pages.Type

/** The build puts them in; sources look where `npm run build:pages` writes. */
declare const PAGES: string | undefined

/** Rejects where no pages were built. */
export const read = async (
  name: keyof Pages,
  options: { readonly hasSyntheticFigures: boolean },
): Promise<Page> => {
  const built = await Schema.decodeUnknownPromise(Schema.parseJson(Pages))(
    typeof PAGES === "undefined"
      ? await readFile(join(import.meta.dirname, "../../dist/pages.json"), "utf8")
      : PAGES,
  )
  const { html: text, policy } = built[name]
  const html = options.hasSyntheticFigures
    ? text.replace("<html", '<html data-figures="synthetic"')
    : text
  const hash = createHash("sha256").update(html).digest("base64url")
  // Weak, because it is the same for the page as it is and for the page packed.
  return { html, gzip: gzipSync(html, { level: 9 }), policy, etag: `W/"${hash}"` }
}
