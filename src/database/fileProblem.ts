import * as Predicate from "effect/Predicate"

/**
 * Says why a file cannot be read or written, and what to do, with the original message in brackets.
 * An error of another kind keeps its message.
 */
export const fileProblem = (cause: unknown): string => {
  const original = cause instanceof Error ? cause.message : String(cause)
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : ""
  const problem = problems.find(([codes]) => codes.includes(code))?.[1]
  return problem === undefined ? original : `${problem} (${original})`
}

const problems: ReadonlyArray<readonly [codes: ReadonlyArray<string>, problem: string]> = [
  [["ENOENT", "ENOTDIR"], "there is no such file or folder; check the path"],
  [["EEXIST"], "it exists already; name another file"],
  [["EISDIR"], "it is a folder; name a file"],
  [["EACCES", "EPERM"], "the right is missing; check the permissions of the file and its folder"],
  [["EROFS"], "the disk is read-only; make it writable, or use another disk"],
  [["ENOSPC"], "the disk is full; free some space"],
]
