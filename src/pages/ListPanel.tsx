import { batch, computed, signal } from "@preact/signals"
import { focusKeyField } from "./KeyPanel.tsx"
import { decoded } from "../list/UrlList.ts"
import * as UrlList from "./UrlList.ts"
import { activeRun, check, credits, key } from "./ConsoleState.ts"
import { addresses, count } from "./Texts.ts"

const typed = signal("")
const attached = signal<{ readonly name: string; readonly text: string } | undefined>(undefined)
const keepsDuplicates = signal(false)
const problem = signal<string | undefined>(undefined)
const isDropTarget = signal(false)

/** The number of the column that the user chose; undefined to find the column. */
const column = signal<string | undefined>(undefined)

const list = computed(() =>
  UrlList.read(attached.value?.text ?? typed.value, {
    keepsDuplicates: keepsDuplicates.value,
    column: column.value,
  }),
)

export const isListEmpty = computed(() => attached.value === undefined && typed.value === "")

const unreadable = computed(
  () => list.value.problem && `${attached.value?.name ?? "The list"} ${list.value.problem}.`,
)

const length = computed(() => list.value.items.length)

/** Maximum length of the text in the input field. Browsers become slow with longer texts. */
const maxTypedLength = 100_000
const maxFileBytes = 100 * 1024 * 1024

const attach = (name: string, text: string) =>
  batch(() => {
    problem.value = undefined
    column.value = undefined
    attached.value = { name, text }
  })

const setText = (text: string) =>
  batch(() => {
    problem.value = undefined
    column.value = undefined
    attached.value = undefined
    typed.value = text
  })

const take = async (file: File | undefined) => {
  if (file === undefined) return
  if (file.size > maxFileBytes) {
    problem.value = `${file.name} is larger than 100 MB. For longer lists, use the command line: authority check.`
    return
  }
  try {
    let text = ""
    for await (const piece of decoded([new Uint8Array(await file.arrayBuffer())])) text += piece
    attach(file.name, text)
  } catch {
    problem.value = `${file.name} could not be read. Check that the file still exists and choose the file again, or paste the list.`
  }
}

const paste = (event: ClipboardEvent) => {
  const file = event.clipboardData?.files[0]
  const text = event.clipboardData?.getData("text/plain") ?? ""
  // A spreadsheet copies its cells as text and as an image. Prefer the text.
  if (file !== undefined && text === "") {
    event.preventDefault()
    return void take(file)
  }
  if (typed.value.length + text.length <= maxTypedLength) return
  event.preventDefault()
  attach("the pasted list", typed.value === "" ? text : `${typed.value}\n${text}`)
}

const sample = [
  "example.com",
  "https://www.wikipedia.org/wiki/Domain",
  "https://developer.mozilla.org/en-US/docs/Web",
  "nodejs.org",
  "www.iana.org",
  "localhost",
].join("\n")

/**
 * Fills the list with the sample. Then moves the focus to the API key field if the user has not
 * entered an API key, else to the list.
 */
export const useSample = () => {
  setText(sample)
  if (key.value === undefined) focusKeyField()
  else document.getElementById("list")?.focus()
}

const start = (event: Event) => {
  event.preventDefault()
  if (activeRun.value !== undefined) return
  if (length.value === 0) {
    problem.value =
      list.value.table === undefined
        ? "The list is empty: paste some addresses, or choose a file."
        : "Choose the column that has the addresses."
    document.getElementById("list")?.focus()
    return
  }
  problem.value = undefined
  if (check(list.value)) showResults()
  else focusKeyField()
}

const showResults = () =>
  requestAnimationFrame(() => {
    const results = document.querySelector(".results")
    if (results !== null && results.getBoundingClientRect().top > innerHeight / 2) {
      results.scrollIntoView()
    }
  })

// Without the two listeners below, the browser would open a file that the user drops beside the
// list. The file would replace the page, and the API key that the user entered would be lost.
const holdsFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false
const keepPage = (event: DragEvent) => {
  if (holdsFile(event)) event.preventDefault()
}
addEventListener("dragover", keepPage)
addEventListener("drop", keepPage)

export const ListPanel = () => (
  <section
    class={`card ${isDropTarget.value ? "drop" : ""}`}
    aria-labelledby="list-title"
    onDragOver={(event) => (isDropTarget.value = holdsFile(event))}
    onDragLeave={() => (isDropTarget.value = false)}
    onDrop={(event) => {
      isDropTarget.value = false
      void take(event.dataTransfer?.files[0])
    }}
  >
    <h2 id="list-title">List</h2>
    <form onSubmit={start}>
      {attached.value === undefined ? <Field /> : <Attached name={attached.value.name} />}
      <Reading />
      <p class="problem" role="alert">
        {problem.value ?? unreadable.value}
      </p>
      <label class="choice">
        <input
          type="checkbox"
          checked={keepsDuplicates.value}
          onChange={(event) => (keepsDuplicates.value = event.currentTarget.checked)}
        />
        Check duplicates too, and pay for each
      </label>
      <button type="submit" class="primary" disabled={activeRun.value !== undefined}>
        {activeRun.value !== undefined
          ? "A run is in progress"
          : length.value === 0
            ? "Check"
            : `Check ${addresses(length.value)}`}
      </button>
      <Cost />
    </form>
  </section>
)

const Field = () => (
  <>
    <label for="list">Domains or pages, one per line</label>
    <textarea
      id="list"
      rows={9}
      spellcheck={false}
      autocapitalize="off"
      placeholder={"example.com\nhttps://www.example.org/page"}
      value={typed.value}
      onInput={(event) => setText(event.currentTarget.value)}
      onPaste={paste}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        event.currentTarget.form?.requestSubmit()
      }}
    />
    <div class="actions">
      <label class="button">
        Choose a file
        <input
          type="file"
          class="unseen"
          accept=".txt,.csv,.tsv,text/plain,text/csv,text/tab-separated-values"
          onChange={(event) => {
            void take(event.currentTarget.files?.[0])
            // Clear the input, so that the same file can be chosen again.
            event.currentTarget.value = ""
          }}
        />
      </label>
      {typed.value === "" ? (
        <button type="button" class="quiet" onClick={() => setText(sample)}>
          Try a sample
        </button>
      ) : (
        <button type="button" class="quiet" onClick={() => setText("")}>
          Clear
        </button>
      )}
    </div>
  </>
)

const Attached = ({ name }: { readonly name: string }) => (
  <div class="attached">
    <p>
      <strong>{name}</strong>
      <br />
      {addresses(length.value)}
    </p>
    <button type="button" onClick={() => setText("")}>
      Remove
    </button>
  </div>
)

// Shows how the console reads the user's list. When the list is a table, the user can choose the
// column that has the addresses.
const Reading = () => {
  const { duplicates, table } = list.value
  const parts = [
    length.value === 0
      ? "Paste a list of any length, or drop a file here."
      : addresses(length.value),
    ...(table?.column === undefined ? [] : [columnName(table.columns[table.column] ?? "")]),
    ...(duplicates === 0 ? [] : [`${count(duplicates, "duplicate")} left out`]),
  ]
  return (
    <>
      <p class="hint" role="status">
        {parts.join(" · ")}
      </p>
      {table !== undefined && (
        <label>
          Addresses are in
          <select
            value={table.column ?? ""}
            onChange={(event) => (column.value = String(Number(event.currentTarget.value) + 1))}
          >
            {table.column === undefined && <option value="">choose a column</option>}
            {table.columns.map((name, index) => (
              <option key={index} value={index}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  )
}

const columnName = (name: string) =>
  /^column \d+$/.test(name) ? `from ${name}` : `from the column “${name}”`

const Cost = () => {
  const available = credits.value
  const short = available !== undefined && available < length.value
  return (
    <p class="hint">
      {short
        ? `The account has ${count(available, "credit")}: the run stops when the credits are spent. You can continue the run later.`
        : "Only successful checks are charged."}
    </p>
  )
}
