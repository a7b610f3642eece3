/** Renders a page of the guide as static HTML at build time. The page has no script. */
import { renderToStaticMarkup } from "preact-render-to-string"

export interface GuideLink {
  /** The address, relative to the page that shows the link. */
  readonly href: string
  readonly title: string
}

export interface Props {
  readonly title: string
  readonly html: string
  /** All pages of the guide, including the rendered page. */
  readonly guide: ReadonlyArray<GuideLink>
}

export const render = ({ guide, html, title }: Props): string =>
  renderToStaticMarkup(
    <>
      <header>
        <h1>{title}</h1>
        <nav aria-label="Site">
          <a href="../../console">Console</a>
          <a href="../../docs">API reference</a>
        </nav>
      </header>
      <main>
        {/* Safe: the HTML is made from this repository's Markdown at build time. */}
        <article dangerouslySetInnerHTML={{ __html: html }} />
        <nav aria-label="Guide" class="guide">
          {guide.map((page) => (
            <a
              key={page.href}
              href={page.href}
              aria-current={page.title === title ? "page" : undefined}
            >
              {page.title}
            </a>
          ))}
        </nav>
      </main>
    </>,
  )
