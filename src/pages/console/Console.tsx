import { signal } from "@preact/signals"
import { hasSyntheticFigures, isUnkept, oldRuns, shown } from "./ConsoleState.ts"
import { key } from "../Account.ts"
import { Entry } from "./KeyPanel.tsx"
import { isEditing, ListPanel } from "./ListPanel.tsx"
import type { OldRun } from "../answers/OldRuns.ts"
import { RunPanel } from "./RunPanel.tsx"
import { download } from "../Parts.tsx"
import { addresses } from "../Texts.ts"

export const Console = () => (
  <main>
    {hasSyntheticFigures && (
      <p class="notice" role="note">
        <strong>Synthetic figures.</strong> This service uses its sandbox provider, which computes
        the figures from the domain name. They say nothing about real sites.
      </p>
    )}
    <div class="store" role="alert">
      {isUnkept.value && (
        <p class="notice">
          This browser does not keep the answers, perhaps because the window is private. Export the
          results before you close the page.
        </p>
      )}
    </div>
    {oldRuns.value.length > 0 && <OldRuns />}
    {shown.value === undefined ? (
      <>
        <div class="lead">
          <h1>See how strong every site on your list is</h1>
          <p>
            Paste a list of any length, or drop a spreadsheet saved as CSV anywhere on this page.
            Each address gets three figures, which you can sort, filter, copy and export.
          </p>
        </div>
        {key.value === undefined && <Entry />}
        <ListPanel />
        <Meanings />
      </>
    ) : (
      <RunPanel key={shown.value.list} shown={shown.value}>
        {key.value === undefined && <Entry />}
        {isEditing.value && <ListPanel />}
      </RunPanel>
    )}
  </main>
)

const Meanings = () => (
  <section aria-labelledby="meanings-title">
    <h2 id="meanings-title" class="unseen">
      What the figures mean
    </h2>
    <dl class="meanings">
      {meanings.map(([name, meaning]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  </section>
)

const meanings = [
  [
    "Domain authority",
    "0 to 100, for the whole site. It rises with the number and strength of the sites that link to it. From 70 to 80 is much harder than from 20 to 30.",
  ],
  [
    "Page authority",
    "0 to 100, for this one page. No value is good or bad by itself: compare your page with the pages of your competitors.",
  ],
  [
    "Spam score",
    "0 to 100, low is good. Search engines penalise this percentage of the sites with the same features. Look closely at a site above 30.",
  ],
] as const

const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" })

const problem = signal("")

const OldRuns = () => (
  <div class="notice">
    {oldRuns.value.some(({ checked, failed, total }) => checked + failed < total) && (
      <p>
        Before anything is paid: finish open runs with 1.1.0 first. This version does not continue
        them, and pays for their addresses again.
      </p>
    )}
    <details>
      <summary>Runs of version 1.1.0</summary>
      <div class="actions">
        {oldRuns.value.map((run) => (
          <button key={run.id} type="button" class="small" onClick={() => void exportRun(run)}>
            {date.format(run.startedAt)}, {run.name === "" ? addresses(run.total) : run.name}:
            export as CSV
          </button>
        ))}
      </div>
    </details>
    <p class="problem" role="alert">
      {problem.value}
    </p>
  </div>
)

const exportRun = async ({ csv, startedAt }: OldRun) => {
  try {
    problem.value = ""
    const options = { at: new Date(startedAt), isSynthetic: hasSyntheticFigures }
    download(await csv(), "csv", options)
  } catch {
    problem.value = "The browser cannot read what it keeps. Reload the page, and try again."
  }
}
