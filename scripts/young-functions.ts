/**
 * V8 takes a function that is assigned straight to a property, as in `effect.step = () => …`, for a
 * method, which lives long, and makes it among the old objects. Effect makes its effects like that:
 * such a function is garbage as soon as its request is answered, but until old objects are looked at
 * it keeps alive all that it refers to. Behind a comma a function is the same to the language, and
 * young to V8.
 */
import { parse } from "acorn"
import { simple } from "acorn-walk"

/** The script, with every function that V8 would make old behind a comma. */
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
