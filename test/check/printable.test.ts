import { assert, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { table } from "../../src/cli/Output.ts"
import { printable } from "../../src/check/printable.ts"

it.prop(
  "no control or format character of a text reaches the terminal",
  [FastCheck.string({ unit: "binary" })],
  ([text]) => assert.notMatch(printable(text), /[\p{Cc}\p{Cf}]/u),
)

it("a label that hides one escape sequence in another is shown as text in a table", () => {
  const label = "\u001B[\u001B[31m31mred\u202E"
  assert.strictEqual(
    table([["LABEL", null, (label: string) => label]], [label]),
    String.raw`LABEL` + "\n" + String.raw`\u{1b}[\u{1b}[31m31mred\u{202e}`,
  )
})
