/** What V8 keeps is asked of V8 itself, so that a new one that does otherwise is noticed. */
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
    (x) => { const o = {}; o.step ??= (y) => (o.inner = () => [x, y]); o.step(); return o.inner },
    (x) => new Effect(x).step,
  ]
  console.log(makers.map((make) => (make({}), make({}), %InYoungGeneration(make({})))).join())`

const run = (code: string) =>
  execFileSync(process.execPath, ["--allow-natives-syntax", "-e", code], {
    encoding: "utf8",
  }).trim()

/** V8's own functions begin with a sign that is no JavaScript. */
const transformed = withYoungFunctions(script.replace("%InYoung", "InYoung")).replace(
  "InYoung",
  "%InYoung",
)

it("functions that are assigned to properties are old to V8, and in the bundle they are not", () => {
  assert.strictEqual(run(script), "false,false,false,false,false")
  assert.strictEqual(run(transformed), "true,true,true,true,true")
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
