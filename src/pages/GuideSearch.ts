/** Finds the sections of the guide that contain the words of a query. */

export interface Section {
  /** The title of the page. */
  readonly page: string
  /** The heading of the section; on the top of a page, the page's title. */
  readonly heading: string
  readonly href: string
  readonly text: string
}

export interface Found extends Section {
  /** A part of the section's text. Its `isMatch` pieces are words of the query. */
  readonly excerpt: ReadonlyArray<{ readonly text: string; readonly isMatch: boolean }>
}

/** Returns the sections that contain every word of the query, the best first. */
export const find = (
  sections: ReadonlyArray<Section>,
  query: string,
  limit: number,
): ReadonlyArray<Found> => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ section }) => ({ ...section, excerpt: excerptOf(section.text, words) }))
}

// A word in a heading counts most. Among equals, the order of the pages decides: what clients and
// operators need comes first.
const scoreOf = ({ heading, page, text }: Section, words: ReadonlyArray<string>): number => {
  const scores = words.map(
    (word) =>
      10 * Number(heading.toLowerCase().includes(word)) +
      3 * Number(page.toLowerCase().includes(word)) +
      Math.min(2, text.toLowerCase().split(word).length - 1),
  )
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score)
}

const excerptLength = 160

const excerptOf = (text: string, words: ReadonlyArray<string>): Found["excerpt"] => {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0)
  const start = text.lastIndexOf(" ", Math.max(0, Math.min(...places, text.length) - 50)) + 1
  const end =
    text.length - start > excerptLength ? text.lastIndexOf(" ", start + excerptLength) : text.length
  const part = `${start > 0 ? "… " : ""}${text.slice(start, Math.max(start, end))}${end < text.length ? " …" : ""}`
  // `split` returns the texts between the words and, because of the group, the words themselves.
  return part
    .split(new RegExp(`(${words.map(escape).join("|")})`, "i"))
    .map((text, index) => ({ text, isMatch: index % 2 === 1 }))
    .filter(({ text }) => text !== "")
}

const escape = (word: string) => word.replaceAll(/[.*+?^${}()|[\]\\/-]/g, "\\$&")
