import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Stream from "effect/Stream"
import * as RankList from "../../src/providers/dataset/RankList.ts"
import { runs } from "../support/properties.ts"

/** Reads the text in chunks of `pieceSize` bytes. */
const read = (
  text: string,
  format: RankList.Format,
  { pieceSize = 1_000_000, top = Number.POSITIVE_INFINITY } = {},
) => {
  const bytes = Buffer.from(text)
  const pieces: Array<Uint8Array> = []
  for (let i = 0; i < bytes.length; i += pieceSize) pieces.push(bytes.subarray(i, i + pieceSize))
  return RankList.read(Stream.fromIterable(pieces), { format, top }).pipe(
    Stream.runFold({ rows: [], broken: [] }, (all: RankList.Batch, batch) => ({
      rows: [...all.rows, ...batch.rows],
      broken: [...all.broken, ...batch.broken],
    })),
  )
}

const commonCrawl = [
  "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\t#n_hosts",
  "1\t2.4993276E7\t3\t4.481314067744052E-9\tcom.facebook\t2632",
  "2\t2.4E7\t1\t0.01\tcom.google.www\t1",
].join("\n")

const majestic = [
  "GlobalRank,TldRank,Domain,TLD,RefSubNets,RefIPs,IDN_Domain,IDN_TLD,PrevGlobalRank",
  "1,1,google.com,com,1,1,google.com,com,1",
  "2,1,xn--fa-hia.de,de,1,1,faß.de,de,2",
].join("\n")

const openPageRank = [
  "Rank, Domain, Extension, Open Page Rank, Referring Domains",
  "1, facebook.com, com, 10.00, 1000",
  '"2","BBC","co.uk","9.8","2,000"',
  "3, com, com, 9.7, 1",
].join("\r\n")

const tranco = "1,google.com\r\n2,Example.ORG\r\n"

describe("reading a rank list", () => {
  it.effect.each([
    ["common-crawl", commonCrawl, ["facebook.com", "www.google.com"]],
    ["majestic", majestic, ["google.com", "xn--fa-hia.de"]],
    ["open-page-rank", openPageRank, ["facebook.com", "bbc.co.uk", "com.com"]],
    ["open-page-rank", `\ufeff${openPageRank}`, ["facebook.com", "bbc.co.uk", "com.com"]],
    ["tranco", tranco, ["google.com", "example.org"]],
  ] as const)("the names of %s are read in their usual form", ([format, text, names]) =>
    Effect.gen(function* () {
      const rows = names.map((name, i) => ({ name, rank: i + 1 }))
      assert.deepStrictEqual(yield* read(text, format), { rows, broken: [] })
    }),
  )

  it.effect(
    "broken lines of a rank list are reported by number, and the other lines are read",
    () =>
      Effect.gen(function* () {
        const text = [
          "1,a.com",
          "",
          "x,b.com",
          "3,c.com",
          "4",
          "5,-",
          "6,d e.com",
          "0,f.com",
          "9,g.com",
        ]
        const { broken, rows } = yield* read(text.join("\n"), "tranco")
        assert.deepStrictEqual(
          rows.map(({ name }) => name),
          ["a.com", "c.com", "g.com"],
        )
        assert.deepStrictEqual(broken, [3, 5, 6, 7, 8])
      }),
  )

  const files = {
    "common-crawl": commonCrawl,
    majestic,
    "open-page-rank": openPageRank,
    tranco,
    html: "<!doctype html>",
    empty: "",
  }
  for (const format of RankList.Format.literals) {
    for (const [name, text] of Object.entries(files)) {
      if (name === format) continue
      it.effect(
        `a rank list in the format ${format} is refused at its first line if the file is ${name}`,
        () =>
          Effect.gen(function* () {
            const error = yield* Effect.flip(read(text, format))
            assert.include(error.message, `not in the format ${format}`)
          }),
      )
    }
  }

  it.effect("a rank list without line ends is refused before it fills the memory", () =>
    Effect.gen(function* () {
      let pieces = 0
      const endless = Stream.repeatEffect(
        Effect.sync(() => {
          pieces += 1
          return new Uint8Array(10_000).fill(49)
        }),
      )
      const error = yield* Effect.flip(
        Stream.runDrain(RankList.read(endless, { format: "tranco", top: 1 })),
      )
      assert.containSubset(error, { _tag: "WrongFormat" })
      assert.isBelow(pieces, 20)
    }),
  )

  it.effect.prop(
    "with a row limit, a rank list gives its first rows, however the file is cut into chunks",
    {
      pieceSize: FastCheck.integer({ min: 1, max: 50 }),
      top: FastCheck.integer({ min: 1, max: 20 }),
    },
    ({ pieceSize, top }) =>
      Effect.gen(function* () {
        const lines = Array.from({ length: 12 }, (_, i) => (i === 5 ? "?" : `${i + 1},n${i}.com`))
        const whole = yield* read(lines.join("\n"), "tranco")
        const cut = yield* read(lines.join("\n"), "tranco", { pieceSize, top })
        assert.deepStrictEqual(cut.rows, whole.rows.slice(0, top))
        assert.deepStrictEqual(cut.broken, top > 5 ? [6] : [])
      }),
    { fastCheck: { numRuns: runs(10) } },
  )
})
