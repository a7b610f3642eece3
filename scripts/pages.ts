/**
 * Builds the console, the API reference and the pages of the guide. Each page is one HTML file that
 * loads no other file. Its Content-Security-Policy allows only the script and the style in the
 * file.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { build, type BuildOptions } from "esbuild"
import { Api } from "../src/contract/Api.ts"
import { Pages } from "../src/http/BuiltPage.ts"
import { PagePath } from "../src/http/PagePath.ts"
import { toHtml } from "./markdown.ts"

const root = join(import.meta.dirname, "..")

let made: Promise<Pages> | undefined

/** Returns all pages. Builds them only at the first call of the process. */
export const pagesOnce = () => (made ??= makePages())

/** Builds all pages. */
export const makePages = async (): Promise<Pages> => {
  const [script, consoleStyle, docsScript, renderDocs, docsStyle, renderGuide, guideStyle, guide] =
    await Promise.all([
      bundled("src/pages/main.tsx", { format: "esm", minify: true }),
      bundled("src/pages/console.css", { minify: true }),
      bundled("src/pages/docsScript.ts", { format: "esm", minify: true }),
      rendererIn("src/pages/Docs.tsx"),
      bundled("src/pages/docs.css", { minify: true }),
      rendererIn("src/pages/Guide.tsx"),
      bundled("src/pages/guide.css", { minify: true }),
      Promise.all(guideNames.map(readGuide)),
    ])
  const linksFrom = (folder: string) =>
    guide.map(({ name, title }) => ({ href: folder + name, title }))
  return Schema.decodeUnknownSync(Pages)({
    "/console": page({
      title: "Authority console",
      style: consoleStyle,
      script,
      body: needsScript,
    }),
    "/docs": page({
      title: "Authority metrics: API reference",
      style: docsStyle,
      script: docsScript,
      body: renderDocs(OpenApi.fromApi(Api), linksFrom("docs/guide/")),
    }),
    ...Object.fromEntries(
      guide.map(({ html, name, title }) => [
        guideFolder + name,
        page({
          title: `Authority metrics: ${title}`,
          style: guideStyle,
          body: renderGuide({ title, html, guide: linksFrom("") }),
        }),
      ]),
    ),
  })
}

const guideFolder = "/docs/guide/"

const guideNames = PagePath.literals.flatMap((path) =>
  path.startsWith(guideFolder) ? [path.slice(guideFolder.length)] : [],
)

const readGuide = async (name: string) => {
  const markdown = await readFile(join(root, "src/pages/guide", `${name}.md`), "utf8")
  return { name, ...toHtml(markdown, servedLink) }
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

const needsScript =
  '<div id="console"></div><noscript><p>The console needs JavaScript. ' +
  'The API reference is at <a href="docs">/docs</a>.</p></noscript>'

const bundled = async (
  entry: string,
  options: Pick<BuildOptions, "format" | "minify">,
): Promise<string> => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    target: ["chrome125", "firefox128", "safari18"],
    logLevel: "warning",
    ...options,
  })
  return outputFiles.map(({ text }) => text.trim()).join("")
}

/** Bundles a module with JSX and returns its function `render`, which returns HTML. */
const rendererIn = async (entry: string): Promise<(...args: ReadonlyArray<unknown>) => string> => {
  const code = await bundled(entry, { format: "esm" })
  const { render } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  return (...args) => String(render(...args))
}

const page = ({
  body,
  script,
  style,
  title,
}: {
  readonly title: string
  readonly style: string
  readonly body: string
  readonly script?: string
}) => ({
  html: [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${title}</title><link rel="icon" href="${icon}"><style>${style}</style></head>`,
    `<body>${body}${script === undefined ? "" : `<script type="module">${script}</script>`}</body></html>`,
  ].join("\n"),
  policy: [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    "img-src data:",
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`, "connect-src 'self'"]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
})

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The icon in the browser tab: three bars. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3b5bdb"/>' +
    '<path d="M4 12V9M8 12V6.500M12 12V4" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>',
)}`
