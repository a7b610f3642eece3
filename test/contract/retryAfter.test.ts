import { assert, it } from "@effect/vitest"
import { retryAfterMs } from "../../src/contract/retryAfter.ts"

it("Retry-After is read as a number of seconds or as a date, and anything else is ignored", () => {
  const now = Date.parse("2026-11-26T12:00:00Z")
  const times = (headers: ReadonlyArray<string>) =>
    headers.map((header) => retryAfterMs(header, now))
  const dates = ["Thu, 26 Nov 2026 12:00:30 GMT", "Thu, 26 Nov 2026 11:00:00 GMT"]
  assert.deepStrictEqual(times(["0", "120", ...dates]), [0, 120_000, 30_000, 0])
  for (const header of ["", "120.5", "-5", "soon 2030", "12:00 soon"]) {
    assert.isUndefined(retryAfterMs(header, now), header)
  }
})
