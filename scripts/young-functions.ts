/**
 * Makes V8 allocate Effect's closures in the young generation. V8 takes a function that is assigned
 * to a property, as in `effect.step = () => …`, for a long-lived method and allocates it in the old
 * generation. Effect builds its effects like that, so these functions and all that they reference
 * stay in memory until the next full collection. `(0, () => …)` has the same meaning, but V8
 * allocates it young.
 */
import { parse } from "acorn"
import { simple } from "acorn-walk"

/** Rewrites `a.b = function` to `a.b = (0, function)` throughout a script. */
export const withYoungFunctions = (script: string): string => {
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
