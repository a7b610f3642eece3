import * as ParseResult from "effect/ParseResult"

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
