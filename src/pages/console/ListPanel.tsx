import { batch, computed, signal } from "@preact/signals"
import { decoded, type Text } from "../../lists/UrlList.ts"
import { counted } from "../../contract/counted.ts"
import { key } from "../Account.ts"
import { check, type Freshness, isActive, isChecked, limit, shown } from "./ConsoleState.ts"
import { focusKeyField } from "./KeyPanel.tsx"
import { addresses } from "../Texts.ts"
import * as UrlList from "../answers/UrlList.ts"

interface Attachment extends Text {
  readonly name: string
}

const typed = signal("")
const attached = signal<Attachment | undefined>(undefined)
const problem = signal<string | undefined>(undefined)
const isDropTarget = signal(false)

/** The number of the column that the user chose; undefined to detect it. */
const column = signal<string | undefined>(undefined)

const list = computed(() => ({
  ...UrlList.read(attached.value ?? { text: typed.value, isGuessed: false }, column.value),
  name: attached.value?.name ?? pasted,
}))

/** True if the list is open while the page shows a run. */
export const isEditing = signal(false)

/** True if the user has confirmed the hosts whose letters were guessed. */
const isGuessRight = signal(false)

/** Which stored answers are used. Reloading the page resets the choice. */
const freshness = signal<Freshness>("month")

const unreadable = computed(
  () => list.value.problem && `${attached.value?.name ?? "The list"} ${list.value.problem}.`,
)

const length = computed(() => list.value.items.length)

/** Maximum length of the text in the input field. Browsers become slow with longer texts. */
const maxTypedLength = 100_000
const maxFileBytes = 100 * 1024 * 1024

const attach = (file: Attachment | undefined) =>
  batch(() => {
    problem.value = undefined
    column.value = undefined
    isGuessRight.value = false
    isEditing.value = true
    attached.value = file
  })

const setText = (text: string) =>
  batch(() => {
    attach(undefined)
    typed.value = text
  })

const take = async (files: FileList | null | undefined) => {
  const [file, second] = files ?? []
  if (file === undefined) return
  if (second !== undefined) {
    problem.value = `A check takes one file. Drop ${file.name} or ${second.name} alone, or join the files.`
    return
  }
  if (file.size > maxFileBytes) {
    problem.value = `${file.name} is larger than 100 MB. For longer lists, use the command line: authority check.`
    return
  }
  try {
    attach({ name: file.name, ...decoded(new Uint8Array(await file.arrayBuffer())) })
  } catch {
    problem.value = `${file.name} could not be read. Check that the file still exists and choose the file again, or paste the list.`
  }
}

const pasted = "Pasted list"

const sample = [
  "example.com",
  "https://www.wikipedia.org/wiki/Domain",
  "https://developer.mozilla.org/en-US/docs/Web",
  "nodejs.org",
  "www.iana.org",
  "localhost",
].join("\n")

/** Fills the list with the sample, and asks for the key if there is none. */
const useSample = () => {
  setText(sample)
  if (key.value === undefined) focusKeyField()
  else document.getElementById("list")?.focus()
}

const start = async (event: SubmitEvent) => {
  event.preventDefault()
  if (isActive.value) return
  if (length.value === 0) {
    problem.value =
      unreadable.value ??
      (list.value.table === undefined
        ? "The list is empty: paste some addresses, or choose a file."
        : "Choose the column that has the addresses.")
    document.getElementById("list")?.focus()
    return
  }
  if (list.value.guessed.length > 0 && !isGuessRight.value) {
    problem.value = "Confirm the hosts that were guessed, or save the file as UTF-8."
    document.getElementById("guess")?.focus()
    return
  }
  problem.value = undefined
  const isWanted = event.submitter?.id === costId
  const isStarted = await check(list.value, { freshness: freshness.value, isWanted })
  if (isStarted) {
    isEditing.value = false
    requestAnimationFrame(() => document.getElementById("run-title")?.focus())
  } else focusKeyField()
}

/** The id of the button that shows the plan before anything is paid. */
const costId = "cost"

const holdsFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false

// A file may be dropped anywhere. Without these listeners, the browser would open it instead of the
// page, and lose the API key that the user entered.
addEventListener("dragover", (event) => {
  isDropTarget.value = holdsFile(event)
  if (isDropTarget.value) event.preventDefault()
})
addEventListener("dragleave", ({ relatedTarget }) => {
  if (relatedTarget === null) isDropTarget.value = false
})
addEventListener("drop", (event) => {
  isDropTarget.value = false
  if (!holdsFile(event)) return
  event.preventDefault()
  void take(event.dataTransfer?.files)
})

// Text pasted outside all fields is a new list; text pasted into the list's field is added to it.
addEventListener("paste", (event) => {
  const { clipboardData, target } = event
  const field = target instanceof HTMLTextAreaElement ? target : undefined
  if (target instanceof Element && target.closest("input, select, dialog") !== null) return
  const text = clipboardData?.getData("text/plain") ?? ""
  // A spreadsheet copies its cells as text and as an image. Prefer the text.
  if (text.trim() === "") return void take(clipboardData?.files)
  const { selectionEnd, selectionStart, value } = field ?? emptyField
  const whole = value.slice(0, selectionStart) + text + value.slice(selectionEnd)
  if (whole.length > maxTypedLength) {
    event.preventDefault()
    attach({ name: pasted, text: whole, isGuessed: false })
  } else if (field === undefined) setText(text)
})

const emptyField = { value: "", selectionStart: 0, selectionEnd: 0 }

export const ListPanel = () => (
  <section class={`card compose ${isDropTarget.value ? "drop" : ""}`} aria-labelledby="list-title">
    <h2 id="list-title" class="unseen">
      List
    </h2>
    <form onSubmit={(event) => void start(event)}>
      {attached.value === undefined ? <Field /> : <Attached name={attached.value.name} />}
      <Reading />
      <p class="problem" role="alert">
        {problem.value ?? unreadable.value}
      </p>
      <Start />
      <Choices />
    </form>
  </section>
)

/** The start button, less prominent while the list is unchanged since its check. */
const Start = () => {
  const isDone = isChecked(list.value)
  const price = shown.value?.plan?.price
  return (
    <div class="start">
      <div class="actions">
        <ChooseFile />
        {attached.value === undefined &&
          (typed.value === "" ? (
            <button type="button" class="quiet" onClick={useSample}>
              Try a sample
            </button>
          ) : (
            <button type="button" class="quiet" onClick={() => setText("")}>
              Clear
            </button>
          ))}
      </div>
      <p class="hint">
        {price !== undefined && length.value > 0 && (
          <strong>At most {counted(price * length.value, "credit")}. </strong>
        )}
        Only successful checks are charged.
      </p>
      <button
        type="submit"
        id={costId}
        aria-disabled={isActive.value}
        disabled={length.value === 0}
      >
        What does it cost?
      </button>
      <button type="submit" class={isDone ? "" : "primary"} aria-disabled={isActive.value}>
        {isActive.value
          ? "A run is in progress"
          : length.value === 0
            ? "Check"
            : isDone
              ? "Checked"
              : `Check ${addresses(length.value)}`}
      </button>
    </div>
  )
}

const Choices = () => (
  <div class="choices">
    <label>
      Use answers that are kept here from{" "}
      <select
        value={freshness.value}
        onChange={({ currentTarget: { value } }) =>
          (freshness.value = value === "day" || value === "none" ? value : "month")
        }
      >
        <option value="month">the last 30 days</option>
        <option value="day">today</option>
        <option value="none">never: always new</option>
      </select>
    </label>
    <label>
      Ask before a check that may cost more than{" "}
      <input
        type="number"
        // Enter in this field must not start the check.
        form=""
        min={0}
        step={1}
        value={limit.value}
        onChange={({ currentTarget }) =>
          (limit.value = Math.max(0, Math.floor(currentTarget.valueAsNumber) || 0))
        }
      />{" "}
      credits
    </label>
  </div>
)

const ChooseFile = () => (
  <label class="button">
    Choose a file
    <input
      type="file"
      class="unseen"
      accept=".txt,.csv,.tsv,text/plain,text/csv,text/tab-separated-values"
      onChange={(event) => {
        void take(event.currentTarget.files)
        // Clear the input, so that the same file can be chosen again.
        event.currentTarget.value = ""
      }}
    />
  </label>
)

const Field = () => (
  <>
    <label for="list" class="unseen">
      Domains or pages, one per line
    </label>
    <textarea
      id="list"
      rows={10}
      spellcheck={false}
      autocapitalize="off"
      placeholder={"example.com\nhttps://www.example.org/page"}
      value={typed.value}
      onInput={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        event.currentTarget.form?.requestSubmit()
      }}
    />
  </>
)

const Attached = ({ name }: { readonly name: string }) => (
  <div class="line attached">
    <strong>{name}</strong>
    <button type="button" onClick={() => setText("")}>
      Remove
    </button>
  </div>
)

// Shows how the console reads the list, before anything is paid. If the list is a table, the user
// can choose the column with the addresses.
const Reading = () => {
  const { guessed, items, own, repeated, table } = list.value
  const parts = [
    length.value === 0
      ? "One domain or page a line. Ctrl + Enter starts the check"
      : addresses(length.value),
    ...(table?.column === undefined ? [] : [columnName(table.columns[table.column] ?? "")]),
    ...(repeated === 0 ? [] : [counted(repeated, "duplicate")]),
    ...(attached.value?.isGuessed === true ? ["read as Windows-1252, not UTF-8"] : []),
  ]
  return (
    <>
      <p class="hint" role="status">
        {parts.join(" · ")}
      </p>
      {table !== undefined && (
        <label class="column-choice">
          Addresses are in{" "}
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
      {guessed.length > 0 && (
        <label class="choice">
          <input
            type="checkbox"
            id="guess"
            checked={isGuessRight.value}
            onChange={({ currentTarget }) => (isGuessRight.value = currentTarget.checked)}
          />
          The letters are guessed from the encoding. Hosts as in {guessed[0]} are right
        </label>
      )}
      {(attached.value !== undefined || own !== undefined) && items.length > 0 && (
        <FirstRows items={items.slice(0, firstRows)} own={own} />
      )}
    </>
  )
}

const firstRows = 3

const FirstRows = ({ items, own }: Pick<UrlList.UrlList, "items" | "own">) => (
  <div class="scroll" role="region" aria-label="First rows of the list" tabIndex={0}>
    <table class="data">
      {own !== undefined && (
        <thead>
          <tr>
            {own.columns.map((name, index) => (
              <th key={index} scope="col" class={index === own.column ? "chosen" : ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {items.map(({ others, url }, row) => (
          <tr key={row}>
            {others.toSpliced(own?.column ?? 0, 0, url).map((cell, index) => (
              <td key={index} class={index === (own?.column ?? 0) ? "chosen" : ""}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const columnName = (name: string) =>
  /^column \d+$/.test(name) ? `from ${name}` : `from the column “${name}”`
