/** The step of the build that changes how functions are assigned: the program does what it did. */
import { execFileSync } from "node:child_process"
import { assert, it } from "@effect/vitest"
import { withYoungFunctions } from "../../scripts/young-functions.ts"

/** Each makes a function out of a value, in another way of assigning it to a property. */
const script = `
  class Effect { constructor(x) { this.step = () => x } }
  const makers = [
    (x) => { const o = {}; o.step = () => x; return o.step },
    (x) => { const o = {}; o.step = function () { return x }; return o.step },
    (x) => { const o = []; o[0] = (() => x); return o[0] },
    (x) => { const o = {}; o.step ??= (y) => (o.inner = () => [x, y]); o.step(1); return o.inner },
    (x) => new Effect(x).step,
  ]
  console.log(JSON.stringify(makers.map((make) => make("x")())))`

const run = (code: string) =>
  execFileSync(process.execPath, ["-e", code], { encoding: "utf8" }).trim()

it("functions that are assigned to properties return what they returned", () => {
  const transformed = withYoungFunctions(script)
  assert.notStrictEqual(transformed, script)
  assert.strictEqual(run(script), '["x","x","x",["x",1],"x"]')
  assert.strictEqual(run(transformed), run(script))
})

it("what is no function assigned to a property stays as it is", () => {
  const others = "let f = () => 1; const o = { f: () => 2, g() {} }; o.f = f; f = () => o.g()"
  assert.strictEqual(withYoungFunctions(others), others)
})

it("a function has the name it had", () => {
  const nameless =
    "const o = {}; o.f = () => {}; o.g = function g() {}; [o.f.name, o.g.name].join()"
  const namesOf = (code: string) => run(`console.log(eval(${JSON.stringify(code)}))`)
  assert.strictEqual(namesOf(nameless), ",g")
  assert.strictEqual(namesOf(withYoungFunctions(nameless)), ",g")
})
