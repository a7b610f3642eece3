/**
 * A build step that saves memory: it makes V8 allocate short-lived functions in the young
 * generation. That is V8's memory for new objects, which its garbage collector clears often and
 * cheaply. Objects in the old generation stay until the next full collection.
 *
 * V8 assumes that a function that is assigned to a property, as in `effect.step = () => …`, is a
 * long-lived method, and allocates it in the old generation. Effect builds its effects in this way,
 * so these functions and all objects that they reference stay in memory too long. `(0, () => …)` has
 * the same meaning, but V8 allocates it in the young generation.
 */
import { parse } from "acorn"
import { simple } from "acorn-walk"

/** Rewrites `a.b = function` to `a.b = (0, function)` throughout a script. */
export const allocateYoung = (script: string): string => {
  const insertions: Array<readonly [position: number, text: string]> = []
  simple(parse(script, { ecmaVersion: "latest" }), {
    AssignmentExpression: ({ left, right }) => {
      const isFunction = /^(Arrow)?FunctionExpression$/.test(right.type)
      if (left.type !== "MemberExpression" || !isFunction) return
      insertions.push([right.start, "(0,"], [right.end, ")"])
    },
  })
  let [written, end] = ["", 0]
  for (const [position, text] of insertions.toSorted(([a], [b]) => a - b)) {
    written += script.slice(end, position) + text
    end = position
  }
  return written + script.slice(end)
}
