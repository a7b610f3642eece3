import { assert, it } from "@effect/vitest"
import { csv } from "../../src/lists/csv.ts"

it("a cell gets a ' if a spreadsheet could read a formula in it, also after a line end", () => {
  for (const text of [
    "=1+1",
    "+1+1",
    "-1-1",
    "-1,A1",
    "+A1",
    "-",
    "-4\n=1",
    "-1%+1",
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

it("a number with a sign stays as the list has it", () => {
  for (const text of ["-4", "+7", "-1.5", "-1.234.567,89", "+3 %", "-12%", "-1.2E-5"]) {
    assert.strictEqual(csv([[text, 7]], { delimiter: ";" }), `${text};7`)
  }
})
