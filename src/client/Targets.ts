/** Finds the targets of URLs. The service decides which URLs mean the same target. */
import { Forbidden, UnexpectedAnswer } from "./ClientError.ts"
import { isAdmissible, problemOf } from "./Outcomes.ts"
import type { AuthorityMetrics, PreviewOptions } from "./ClientTypes.ts"

/** What the service says about a submitted URL: its target in canonical form, or its problem. */
export type Entry =
  /** `known` is true when the service had the figures. */
  | { readonly url: string; readonly target: string; readonly known?: boolean }
  | { readonly url: string; readonly problem: string }

export interface Judged {
  readonly entries: ReadonlyArray<Entry>
  /** The price of one URL; undefined if no URL is valid, or the service has no preview. */
  readonly price: number | undefined
}

export type Judge = (urls: ReadonlyArray<string>, options?: PreviewOptions) => Promise<Judged>

/**
 * Makes a function that asks the service for the targets of 1 to 50 URLs, free of charge. If the
 * service has no preview, or the key may not use it, only identical URLs have the same target.
 */
export const judging = ({ preview }: Pick<AuthorityMetrics, "preview">): Judge => {
  let hasPreview = true
  return async (urls, options) => {
    if (!hasPreview) return judgedAlone(urls)
    try {
      const { entries, maxCredits, summary } = await preview(urls, options)
      return {
        entries,
        price: summary.valid === 0 ? undefined : maxCredits / summary.valid,
      }
    } catch (error) {
      if (!isHidden(error)) throw error
      hasPreview = false
      return judgedAlone(urls)
    }
  }
}

/** True if the service is too old to know the endpoint, or the key may not use it. */
export const isHidden = (error: unknown): boolean =>
  error instanceof Forbidden || (error instanceof UnexpectedAnswer && error.status === 404)

const judgedAlone = (urls: ReadonlyArray<string>): Judged => ({
  entries: urls.map((url) =>
    isAdmissible(url) ? { url, target: url } : { url, problem: problemOf(url) },
  ),
  price: undefined,
})
