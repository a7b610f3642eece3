import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { TimeSpan } from "../../src/accounts/TimeSpan.ts"

const decode = Schema.decodeSync(TimeSpan)

describe("a time span", () => {
  it("every time span up to ten years survives being written and read", () => {
    for (const text of ["0s", "500ms", "90d", "3650d"]) {
      const span = decode(text)
      assert.deepStrictEqual(decode(Schema.encodeSync(TimeSpan)(span)), span)
    }
    assert.strictEqual(Duration.toDays(decode("90d")), 90)
    assert.throws(() => decode("3651d"))
  })
})
