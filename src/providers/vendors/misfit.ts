import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"

/**
 * Names the first field of a vendor's answer that does not fit its schema, such as `the field
 * results.0.rank is missing`. The text may quote the answer, so it is not safe to log as it is.
 */
export const misfit = (issue: ParseResult.ParseIssue): string => {
  const [first] = ParseResult.ArrayFormatter.formatIssueSync(issue)
  if (first === undefined || first.path.length === 0) return "it is not an object of the known form"
  const field = `the field ${first.path.map(String).join(".")}`
  return first._tag === "Missing" ? `${field} is missing` : `${field}: ${first.message}`
}

/** The name of the field that is missing, without positions in lists; undefined when none is. */
export const missingField = (issue: ParseResult.ParseIssue): string | undefined => {
  const [first] = ParseResult.ArrayFormatter.formatIssueSync(issue)
  return first?._tag === "Missing" ? first.path.filter(Predicate.isString).join(".") : undefined
}
