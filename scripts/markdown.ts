/** Converts a page of the guide from Markdown to HTML. */
import { Marked, Renderer, type Token, type Tokens } from "marked"

interface Document {
  readonly title: string
  /** The page's HTML without its title. */
  readonly html: string
  readonly headings: ReadonlyArray<Heading>
}

interface Heading {
  readonly id: string
  readonly text: string
  readonly depth: number
}

/**
 * Converts Markdown to HTML. `linkOf` takes the target of a link in the Markdown, and returns the
 * address at which the service serves the target. When `linkOf` returns undefined, the HTML
 * contains only the link's text.
 */
export const toHtml = (
  markdown: string,
  linkOf: (href: string) => string | undefined,
): Document => {
  const marked = new Marked()
  const [title, ...tokens] = marked.lexer(markdown)
  if (title?.type !== "heading" || title["depth"] !== 1) {
    throw new Error("a page of the guide begins with its title")
  }
  const renderer = new GuideRenderer(linkOf)
  const html = marked.parser(tokens, { renderer })
  return { title: textOf(title["tokens"] ?? []), html, headings: renderer.headings }
}

/** Returns a function that returns the id of a heading. The ids are the same as on GitHub. */
export const makeIds = () => {
  const counts = new Map<string, number>()
  return (heading: string): string => {
    const id = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replaceAll(" ", "-")
    const count = counts.get(id) ?? 0
    counts.set(id, count + 1)
    return count === 0 ? id : `${id}-${count}`
  }
}

/** Returns the text of inline tokens without markup. */
export const textOf = (tokens: ReadonlyArray<Token>): string =>
  tokens
    .map((token) =>
      "tokens" in token && token.tokens !== undefined
        ? textOf(token.tokens)
        : "text" in token
          ? token.text
          : "",
    )
    .join("")

class GuideRenderer extends Renderer {
  private readonly linkOf: (href: string) => string | undefined
  private readonly idOf = makeIds()
  private section = "Introduction"
  readonly headings: Array<Heading> = []
  private regions = 0

  constructor(linkOf: (href: string) => string | undefined) {
    super()
    this.linkOf = linkOf
  }

  override heading({ depth, tokens }: Tokens.Heading): string {
    this.section = textOf(tokens)
    const id = this.idOf(this.section)
    this.headings.push({ id, text: this.section, depth })
    return `<h${depth} id="${escape(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
  }

  override code({ text }: Tokens.Code): string {
    return `<pre ${this.region("Example")}>${escape(text)}</pre>\n`
  }

  override table(token: Tokens.Table): string {
    return `<div class="scrolled" ${this.region("Table")}>${super.table(token)}</div>\n`
  }

  override link(token: Tokens.Link): string {
    const href = this.linkOf(token.href)
    return href === undefined
      ? this.parser.parseInline(token.tokens)
      : `<a href="${escape(href)}">${this.parser.parseInline(token.tokens)}</a>`
  }

  override image({ href }: Tokens.Image): string {
    throw new Error(`a page of the guide shows no images: ${href}`)
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    throw new Error(`a page of the guide contains no HTML: ${text}`)
  }

  /**
   * Returns the HTML attributes of a scrollable region, which users can scroll with the keyboard.
   * Each region gets a unique name.
   */
  private region(kind: string) {
    this.regions++
    return `tabindex="0" role="region" aria-label="${escape(`${kind} ${this.regions}: ${this.section}`)}"`
  }
}

const escape = (text: string) =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
