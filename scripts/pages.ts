/**
 * Builds the console, the API reference and the pages of the guide. Each page is one HTML file that
 * loads no other file. Its Content-Security-Policy allows only the scripts in the file.
 */
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import * as Schema from "effect/Schema"
import { build, type BuildOptions } from "esbuild"
import manifest from "../package.json" with { type: "json" }
import { type BuiltPage, fileOf, PagePath } from "../src/http/documents/BuiltPage.ts"
import { toHtml } from "./markdown.ts"

const root = join(import.meta.dirname, "..")

let written: Promise<void> | undefined

/** Writes all pages to `dist`. Builds them only at the first call of the process. */
export const writePages = () =>
  (written ??= makePages().then((pages) => {
    for (const [path, page] of pages) {
      const file = join(root, "dist", fileOf(path))
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, JSON.stringify(page))
    }
  }))

/** Builds all pages. */
export const makePages = async (): Promise<ReadonlyMap<PagePath, BuiltPage>> => {
  const [consolePage, operatorPage, scalar, apiScript, apiStyle, render, guide] = await Promise.all(
    [
      consoleOf("Authority console", "main.tsx", "console/console.css", "docs"),
      consoleOf(
        "Authority administration",
        "operator/main.tsx",
        "operator/operator.css",
        "../docs",
      ),
      readScalar(),
      bundled("src/pages/documents/apiReference.ts", { format: "esm", minify: true }),
      bundled("src/pages/documents/apiReference.css", { minify: true }),
      renderers(),
      Promise.all(guidePaths.map(readGuide)),
    ],
  )
  return new Map<PagePath, BuiltPage>([
    ["/console", consolePage],
    ["/console/operator", operatorPage],
    [
      "/docs",
      page({
        title: "Authority metrics: API reference",
        style: apiStyle,
        scripts: [scalar, apiScript],
        isScalar: true,
        body: render.renderApi({ version: manifest.version }),
      }),
    ],
    ...(await guidePages(guide, render)),
  ])
}

const consoleOf = async (title: string, script: string, style: string, docs: string) => {
  const [built, css] = await Promise.all([
    bundled(`src/pages/${script}`, { format: "esm", minify: true }),
    bundled(`src/pages/${style}`, { minify: true }),
  ])
  return page({ title, style: css, scripts: [built], body: needsScript(docs) })
}

const guidePages = async (guide: ReadonlyArray<GuidePage>, { renderGuide }: Renderers) => {
  const [script, style] = await Promise.all([
    bundled("src/pages/documents/guidePage.ts", { format: "esm", minify: true }),
    bundled("src/pages/documents/guide.css", { minify: true }),
  ])
  const chapters = chaptersOf(guide)
  return guide.map(({ headings, html, path, title }) => {
    const body = renderGuide({ title, html, headings, chapters })
    return [
      path,
      page({ title: `Authority metrics: ${title}`, style, scripts: [script], body }),
    ] as const
  })
}

/** Returns Scalar's script, which @effect/platform contains but does not export. */
const readScalar = async () => {
  const file = "node_modules/@effect/platform/dist/esm/internal/httpApiScalar.js"
  const { javascript } = Schema.decodeUnknownSync(Schema.Struct({ javascript: Schema.String }))(
    await import(join(root, file)),
  )
  return javascript
}

const guideFolder = "/docs/guide/"

const guidePaths = PagePath.literals.filter((path) => path.startsWith(guideFolder))

const guideNames = guidePaths.map((path) => path.slice(guideFolder.length))

interface Chapter {
  readonly title: string
  readonly pages: ReadonlyArray<{ readonly href: string; readonly title: string }>
}

/** The pages of the guide, grouped by the people who need them. */
const readers = [
  { title: "For clients", names: ["client", "agents"] },
  {
    title: "For operators",
    names: ["operating", "monitoring", "providers", "postgresql", "changes"],
  },
  { title: "For engineers", names: ["design", "contributing", "ledger", "speed", "simulation"] },
]

/** Returns the chapters of the guide. Throws if a page has no chapter. */
const chaptersOf = (guide: ReadonlyArray<GuidePage>): ReadonlyArray<Chapter> => {
  const titles = new Map(guide.map(({ name, title }) => [name, title]))
  const chapters = readers.map(({ names, title }) => ({
    title,
    pages: names.map((name) => ({ href: name, title: titles.get(name) ?? name })),
  }))
  const homeless = guideNames.find((name) => readers.every(({ names }) => !names.includes(name)))
  if (homeless !== undefined) throw new Error(`the page ${homeless} of the guide has no chapter`)
  return chapters
}

type GuidePage = Awaited<ReturnType<typeof readGuide>>

const readGuide = async (path: PagePath) => {
  const name = path.slice(guideFolder.length)
  const markdown = await readFile(join(root, "src/pages/guide", `${name}.md`), "utf8")
  return { name, path, ...toHtml(markdown, servedLink) }
}

/**
 * Maps a link between files of the repository to a link between pages. Returns undefined for files
 * that are not served.
 */
const servedLink = (href: string): string | undefined => {
  if (href.startsWith("#") || /^https?:/.test(href)) return href
  const [, file = "", anchor = ""] = /^([^#]*)(#.*)?$/.exec(href) ?? []
  if (file === "../../../README.md") return "../../docs"
  const name = file.replace(/\.md$/, "")
  return guideNames.includes(name) ? name + anchor : undefined
}

const needsScript = (docs: string) =>
  '<div id="console"></div><noscript><p>The console needs JavaScript. ' +
  `The API reference is at <a href="${docs}">/docs</a>.</p></noscript>`

const bundled = async (
  entry: string,
  options: Pick<BuildOptions, "format" | "minify">,
): Promise<string> => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    loader: { ".woff2": "dataurl" },
    target: ["chrome125", "firefox128", "safari18"],
    logLevel: "warning",
    ...options,
  })
  return outputFiles.map(({ text }) => text.trim()).join("")
}

interface Renderers {
  readonly renderGuide: (props: object) => string
  readonly renderApi: (props: { readonly version: string }) => string
}

/**
 * Bundles the module that renders pages at build time, because it contains JSX, and returns its
 * functions.
 */
const renderers = async (): Promise<Renderers> => {
  const code = await bundled("src/pages/documents/Guide.tsx", { format: "esm" })
  return import(`data:text/javascript,${encodeURIComponent(code)}`)
}

const page = ({
  body,
  isScalar = false,
  scripts = [],
  style,
  title,
}: {
  readonly title: string
  readonly style: string
  readonly body: string
  readonly scripts?: ReadonlyArray<string>
  /**
   * True for a page with Scalar, which adds styles, makes HTML from Markdown, and computes hashes
   * with WebAssembly.
   */
  readonly isScalar?: boolean
}): BuiltPage => ({
  html: [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${title}</title><link rel="icon" href="${icon}"><style>${style}</style></head>`,
    `<body>${body}${scripts.map((script) => `<script type="module">${script}</script>`).join("")}</body></html>`,
  ].join("\n"),
  policy: [
    "default-src 'none'",
    `style-src ${isScalar ? "'unsafe-inline'" : hashOf(style)}`,
    "img-src data:",
    "font-src data:",
    ...(scripts.length === 0
      ? []
      : [
          `script-src ${[...scripts.map(hashOf), ...(isScalar ? ["'wasm-unsafe-eval'"] : [])].join(" ")}`,
          "connect-src 'self'",
        ]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...(isScalar ? [] : ["require-trusted-types-for 'script'", "trusted-types 'none'"]),
  ].join("; "),
})

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The icon in the browser tab: three bars. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3b5bdb"/>' +
    '<path d="M4 12V9M8 12V6.500M12 12V4" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>',
)}`
