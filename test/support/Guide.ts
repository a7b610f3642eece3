/** Reads the code blocks of a page of the guide, so that a test can run them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../src/pages/guide")

/**
 * Returns a function that lists the code blocks of a language under a heading. It throws if there
 * are none.
 */
export const blocksOf = (page: string) => {
  const sections = readFileSync(join(folder, page), "utf8").split(/^#+ (?=\w)/m)
  return (heading: string, language: string): ReadonlyArray<string> => {
    const section = sections.find((text) => text.startsWith(`${heading}\n`)) ?? ""
    const pattern = new RegExp(`^ *\`\`\`${language}\\n(.+?)\`\`\``, "gms")
    const blocks = [...section.matchAll(pattern)].map(([, block = ""]) => block)
    if (blocks.length === 0) throw new Error(`${page} has no ${language} under "${heading}"`)
    return blocks
  }
}
