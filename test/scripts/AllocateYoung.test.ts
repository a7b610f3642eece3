/**
 * A build step makes V8 allocate short-lived functions in memory that is cleared often. It rewrites
 * assignments of functions, and must not change what a program does.
 */
import { runInNewContext } from "node:vm"
import { assert, it } from "@effect/vitest"
import { allocateYoung } from "../../scripts/allocate-young.ts"

/** Each maker assigns a function to a property in a different way, and returns the function. */
const script = `
  class Effect { constructor(x) { this.step = () => x } }
  const makers = [
    (x) => { const o = {}; o.step = () => x; return o.step },
    (x) => { const o = {}; o.step = function () { return x }; return o.step },
    (x) => { const o = []; o[0] = (() => x); return o[0] },
    (x) => { const o = {}; o.step ??= (y) => (o.inner = () => [x, y]); o.step(1); return o.inner },
    (x) => new Effect(x).step,
  ]
  JSON.stringify(makers.map((make) => make("x")()))`

const run = (code: string): unknown => runInNewContext(code)

it("the build step that makes V8 allocate functions in the young generation does not change what a function that is assigned to a property returns", () => {
  const transformed = allocateYoung(script)
  assert.notStrictEqual(transformed, script)
  assert.strictEqual(run(script), '["x","x","x",["x",1],"x"]')
  assert.strictEqual(run(transformed), run(script))
})

it("the build step that makes V8 allocate functions in the young generation changes only functions that are assigned to a property", () => {
  const others = "let f = () => 1; const o = { f: () => 2, g() {} }; o.f = f; f = () => o.g()"
  assert.strictEqual(allocateYoung(others), others)
})

it("the build step that makes V8 allocate functions in the young generation keeps the name of a function", () => {
  const nameless =
    "const o = {}; o.f = () => {}; o.g = function g() {}; [o.f.name, o.g.name].join()"
  assert.strictEqual(run(nameless), ",g")
  assert.strictEqual(run(allocateYoung(nameless)), ",g")
})
