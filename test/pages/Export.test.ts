import { assert, describe, it } from "@effect/vitest"
import { csv } from "../../src/pages/Export.ts"

describe("the CSV export", () => {
  it("the CSV export has a header row and a byte order mark, so that spreadsheets detect UTF-8", () => {
    assert.strictEqual(
      csv([
        {
          place: 1,
          url: "https://bücher.example.com/?a=1,2",
          figures: { domainAuthority: 50.5, pageAuthority: 0 },
        },
        { place: 2, url: 'a "b"', reason: "INVALID_URL" },
        { place: 3, url: "c.com", figures: { domainAuthority: 1, pageAuthority: 2, spamScore: 3 } },
        { place: 4, url: "d.com" },
      ]),
      "\uFEFFurl,domainAuthority,pageAuthority,spamScore,reason\r\n" +
        '"https://bücher.example.com/?a=1,2",50.5,0,,\r\n' +
        '"a ""b""",,,,INVALID_URL\r\n' +
        "c.com,1,2,3,\r\n" +
        "d.com,,,,\r\n",
    )
  })

  it.each(['=HYPERLINK("http://evil.example")', "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])(
    "the CSV export quotes a URL that a spreadsheet would run as a formula: %j",
    (url) => {
      const [, line = ""] = csv([{ place: 1, url, reason: "INVALID_URL" }]).split("\r\n")
      assert.match(line, /^"?'/)
    },
  )
})
