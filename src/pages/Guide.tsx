/** Renders a page of the guide as static HTML at build time. Only its search needs a script. */
import { renderToStaticMarkup } from "preact-render-to-string"

export interface Chapter {
  /** Whom the pages are for. */
  readonly title: string
  readonly pages: ReadonlyArray<GuideLink>
}

interface GuideLink {
  /** The address, relative to the page that shows the link. */
  readonly href: string
  readonly title: string
}

export interface Heading {
  readonly id: string
  readonly text: string
  readonly depth: number
}

export interface Props {
  readonly title: string
  readonly html: string
  readonly headings: ReadonlyArray<Heading>
  /** All pages of the guide, including the rendered page. */
  readonly chapters: ReadonlyArray<Chapter>
}

export const render = ({ chapters, headings, html, title }: Props): string =>
  renderToStaticMarkup(
    <>
      <header>
        <p class="name">
          <a href="client">Authority guide</a>
        </p>
        <Search />
        <nav aria-label="Site">
          <a href="#pages" class="pages">
            Pages
          </a>
          <a href="../../console">Console</a>
          <a href="../../docs">
            API<span class="long"> reference</span>
          </a>
        </nav>
      </header>
      <main>
        <article>
          <h1>{title}</h1>
          <Contents headings={headings} />
          {/* Safe: the HTML is made from this repository's Markdown at build time. */}
          <div class="text" dangerouslySetInnerHTML={{ __html: html }} />
        </article>
        <nav aria-label="Guide" class="guide" id="pages">
          {chapters.map((chapter) => (
            <section key={chapter.title}>
              <h2>{chapter.title}</h2>
              <Links links={chapter.pages} current={title} />
            </section>
          ))}
        </nav>
      </main>
    </>,
  )

// The script shows the field, because the field does nothing without the script.
const Search = () => (
  <div role="search" hidden>
    <label class="unseen" for="search">
      Search the guide
    </label>
    <input id="search" type="search" placeholder="Search the guide" autocomplete="off" />
    <div class="found" hidden>
      <p class="hint" role="status" />
      <ol />
    </div>
  </div>
)

const Contents = ({ headings }: Pick<Props, "headings">) => (
  <nav aria-label="On this page" class="contents">
    <h2>On this page</h2>
    <ul>
      {headings
        .filter(({ depth }) => depth <= 3)
        .map(({ depth, id, text }) => (
          <li key={id} class={`depth-${depth}`}>
            <a href={`#${id}`}>{text}</a>
          </li>
        ))}
    </ul>
  </nav>
)

const Links = ({
  current,
  links,
}: {
  readonly links: ReadonlyArray<GuideLink>
  readonly current: string
}) => (
  <ul>
    {links.map(({ href, title }) => (
      <li key={href}>
        <a href={href} aria-current={title === current ? "page" : undefined}>
          {title}
        </a>
      </li>
    ))}
  </ul>
)
