import { assert, it } from "@effect/vitest"
import { csv } from "../../src/list/csv.ts"

it("a cell gets a ' if a spreadsheet could read a formula in it, also after a line end", () => {
  for (const text of [
    "=1+1",
    "+1",
    "-1",
    "@sum",
    "\t=1",
    "\r=1",
    "\n=1",
    "\r\n=1",
    "=1\n+2",
    "\n",
  ]) {
    assert.strictEqual(csv([["a", text, 7]]), `a,"'${text}",7`)
  }
  assert.strictEqual(csv([["a=1", "a\n=1", -7, null]]), 'a=1,"a\n=1",-7,')
})
