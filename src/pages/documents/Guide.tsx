/** Renders the pages of the guide, and the frame of the API reference, at build time. */
import { renderToStaticMarkup } from "preact-render-to-string"
import { Header } from "../Header.tsx"

export interface Chapter {
  /** The readers for whom the pages are. */
  readonly title: string
  readonly pages: ReadonlyArray<{
    /** The address, relative to the page that shows the link. */
    readonly href: string
    readonly title: string
  }>
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

export const renderGuide = ({ chapters, headings, html, title }: Props): string =>
  renderToStaticMarkup(
    <>
      <Header root="../../" current="guide" />
      <main>
        <article>
          <a href="#pages" class="to-pages">
            All pages of the guide
          </a>
          <h1>{title}</h1>
          <Contents headings={headings} />
          {/* Safe: the HTML is made from this repository's Markdown at build time. */}
          <div class="text" dangerouslySetInnerHTML={{ __html: html }} />
        </article>
        <Chapters chapters={chapters} current={title} />
      </main>
    </>,
  )

/** The page of the API reference, which Scalar fills: https://github.com/scalar/scalar */
export const renderApi = ({ version }: { readonly version: string }): string =>
  renderToStaticMarkup(
    <>
      <Header root="" current="api" note={`version ${version}`} />
      <div id="api">
        <p class="loading">Loading the reference…</p>
      </div>
    </>,
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

const Chapters = ({
  chapters,
  current,
}: Pick<Props, "chapters"> & { readonly current: string }) => (
  <nav aria-label="Guide" class="guide" id="pages">
    {chapters.map((chapter) => (
      <section key={chapter.title}>
        <h2>{chapter.title}</h2>
        <ul>
          {chapter.pages.map(({ href, title }) => (
            <li key={href}>
              <a href={href} aria-current={title === current ? "page" : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </section>
    ))}
  </nav>
)
