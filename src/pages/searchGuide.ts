/**
 * The script of the guide's pages. It applies the console's theme and makes the search work. The
 * search reads the other pages from the service when the user first needs them.
 */
import { type Found, find, type Section } from "./GuideSearch.ts"
import * as Theme from "./Theme.ts"

Theme.apply(Theme.kept())

const maxFound = 12

const search = document.querySelector<HTMLElement>("[role=search]")
const field = document.querySelector<HTMLInputElement>("#search")
const found = document.querySelector<HTMLElement>(".found")
const status = document.querySelector<HTMLElement>(".found [role=status]")
const list = document.querySelector<HTMLElement>(".found ol")

const pages = () =>
  [...document.querySelectorAll<HTMLAnchorElement>("nav.guide a")].map((link) => ({
    href: link.getAttribute("href") ?? "",
    isCurrent: link.ariaCurrent === "page",
  }))

/** `XMLHttpRequest` parses HTML, which the policy on trusted types allows to no other method. */
const load = (href: string) =>
  new Promise<Document>((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open("GET", href)
    request.responseType = "document"
    request.onload = () =>
      request.status === 200 && request.responseXML !== null
        ? resolve(request.responseXML)
        : reject(new Error(`The service answered ${request.status}.`))
    request.onerror = () => reject(new Error("The service does not answer."))
    request.send()
  })

const sectionsOf = (page: Document, href: string): ReadonlyArray<Section> => {
  const title = page.querySelector("h1")?.textContent ?? ""
  const sections: Array<Section> = []
  let section: Section = { page: title, heading: title, href, text: "" }
  for (const element of page.querySelectorAll(".text > *")) {
    const text = element.textContent.replaceAll(/\s+/g, " ").trim()
    if (/^H[2-6]$/.test(element.tagName)) {
      sections.push(section)
      section = { page: title, heading: text, href: `${href}#${element.id}`, text: "" }
    } else {
      section = { ...section, text: `${section.text} ${text}`.trim() }
    }
  }
  return [...sections, section]
}

let reading: Promise<ReadonlyArray<Section>> | undefined

const readAll = () =>
  (reading ??= Promise.all(
    pages().map(async ({ href, isCurrent }) =>
      sectionsOf(isCurrent ? document : await load(href), href),
    ),
  )
    .then((sections) => sections.flat())
    .catch((error: unknown) => {
      reading = undefined
      throw error
    }))

const show = async () => {
  if (field === null || found === null || status === null || list === null) return
  const query = field.value
  found.hidden = query.trim() === ""
  if (found.hidden) return
  try {
    const sections = await readAll()
    // The user may have typed on while the pages were read.
    if (field.value !== query) return
    const results = find(sections, query, maxFound)
    status.textContent = summaryOf(results.length)
    list.replaceChildren(...results.map(itemOf))
  } catch (error) {
    list.replaceChildren()
    status.textContent = `The guide could not be read. ${error instanceof Error ? error.message : ""}`
  }
}

const summaryOf = (count: number) =>
  count === 0
    ? "No section has all these words."
    : count === 1
      ? "1 section"
      : count === maxFound
        ? `The best ${count} sections`
        : `${count} sections`

const itemOf = ({ excerpt, heading, href, page }: Found) => {
  const link = element("a", element("strong", heading), ` ${heading === page ? "" : page}`)
  link.href = href
  const pieces = excerpt.map(({ isMatch, text }) => (isMatch ? element("mark", text) : text))
  return element("li", link, element("p", ...pieces))
}

const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  ...children: ReadonlyArray<Node | string>
) => {
  const made = document.createElement(name)
  made.append(...children)
  return made
}

const close = () => {
  if (found !== null) found.hidden = true
}

const onKey = (event: KeyboardEvent) => {
  const links = [...(list?.querySelectorAll("a") ?? [])]
  const places = [field, ...links]
  const at = places.findIndex((place) => place === document.activeElement)
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
  if (step !== 0 && at >= 0) {
    event.preventDefault()
    places[at + step]?.focus()
  } else if (event.key === "Enter" && at === 0) links[0]?.click()
  else if (event.key === "Escape") {
    close()
    field?.focus()
  }
}

if (search !== null && field !== null) {
  search.hidden = false
  field.addEventListener("focus", () => void readAll().catch(() => {}))
  field.addEventListener("input", () => void show())
  field.addEventListener("focus", () => void show())
  search.addEventListener("keydown", onKey)
  search.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && search.contains(relatedTarget))) close()
  })
  // A result on this page does not load a page, so the list would stay open.
  list?.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a") !== null) close()
  })
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || document.activeElement === field) return
    event.preventDefault()
    field.focus()
  })
}
