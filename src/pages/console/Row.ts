/** A row of the console's results: a row of the user's list, and its outcome. */
import type { Failure, Outcome, Success } from "../../client/PromiseClient.ts"
import type { Item } from "../../lists/UrlList.ts"
import type { Run } from "../../lists/Run.ts"

/** A row that has no outcome still waits to be checked. */
export interface Row extends Item {
  /** The position in the list, from 1. */
  readonly place: number
  readonly outcome?: Outcome
  /** The figures of the outcome, if it has any. */
  readonly figures?: Success
  /** Why the outcome has no figures. */
  readonly reason?: Reason
  /** The place of the first row with the same target, when that is another row. */
  readonly sameAs?: number
}

export type Reason = Failure["reason"]

export const make = (
  item: Item,
  place: number,
  outcome: Outcome | undefined,
  sameAs?: number,
): Row => ({
  ...item,
  place,
  ...(outcome !== undefined && {
    outcome,
    ...("reason" in outcome ? { reason: outcome.reason } : { figures: outcome }),
  }),
  ...(sameAs !== undefined && { sameAs }),
})

/** Returns the rows of a list, with the outcomes that its run has so far. */
export const rowsOf = (
  items: ReadonlyArray<Item>,
  run: Pick<Run, "outcomeOf" | "targetOf">,
): ReadonlyArray<Row> => {
  const firsts = new Map<string, number>()
  return items.map((item, i) => {
    const target = run.targetOf(item.url)
    const first = target === undefined ? undefined : firsts.get(target)
    if (target !== undefined && first === undefined) firsts.set(target, i + 1)
    return make(item, i + 1, run.outcomeOf(item.url), first)
  })
}

export const isWaiting = ({ outcome }: Row) => outcome === undefined

/** True if a retry may succeed. The vendor is not asked for an unknown address for an hour. */
export const isWorthRetrying = ({ outcome }: Row) =>
  outcome !== undefined &&
  "reason" in outcome &&
  outcome.reason !== "INVALID_URL" &&
  outcome.cause !== "unknown"

interface UrlParts {
  /** The scheme with its slashes, or an empty string. */
  readonly scheme: string
  readonly host: string
  /** The port, the path and everything after them. */
  readonly rest: string
}

/** Splits an address as the user wrote it. */
export const partsOf = (url: string): UrlParts => {
  const [, scheme = "", host = url, rest = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#:]+)(.*)$/is.exec(url) ?? []
  return { scheme, host, rest }
}

/** Returns the address of a web page, or undefined when a browser cannot open it as one. */
export const linkOf = (url: string): string | undefined => {
  const { host, scheme } = partsOf(url)
  const link = scheme === "" ? `http://${url}` : url
  return /^https?:\/\//i.test(link) && host.includes(".") && URL.canParse(link) ? link : undefined
}
