import { signal } from "@preact/signals"
import { Ask } from "./Ask.tsx"
import { deleteAll, hasSyntheticFigures, isActive, oldRuns } from "./ConsoleState.ts"
import { download } from "./download.ts"
import type { OldRun } from "./OldRuns.ts"
import { addresses } from "./Texts.ts"

const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" })

const problem = signal("")

const attempt = async (act: () => Promise<void>) => {
  try {
    problem.value = ""
    await act()
  } catch {
    problem.value =
      "The browser cannot read or change what it keeps. Reload the page, and try again."
  }
}

/** What this browser keeps, and how to delete it. */
export const Kept = () => (
  <section class="card" aria-labelledby="kept-title">
    <h2 id="kept-title">Kept in this browser</h2>
    <p class="hint">
      The answers that were paid for, and the addresses that were sent without an answer, of each
      account, until you delete them. Lists and their other columns are not kept: paste a list again
      to see its answers.
    </p>
    {oldRuns.value.length > 0 && <OldRuns />}
    <Ask
      name="Delete everything"
      question="Delete all answers, the key and old runs?"
      act="Delete permanently"
      isDisabled={isActive}
      onAct={() => void attempt(deleteAll)}
    />
    <p class="problem" role="alert">
      {problem.value}
    </p>
  </section>
)

const OldRuns = () => (
  <details>
    <summary>Runs of version 1.1.0</summary>
    <ol class="runs">
      {oldRuns.value.map((run) => (
        <li key={run.id}>
          <button type="button" class="run" onClick={() => void exportRun(run)}>
            <span class="when">{date.format(run.startedAt)}</span>
            <strong>{run.name === "" ? addresses(run.total) : run.name}</strong>
            <span class="sub">Export as CSV</span>
          </button>
        </li>
      ))}
    </ol>
  </details>
)

const exportRun = ({ csv, startedAt }: OldRun) =>
  attempt(async () =>
    download(await csv(), "csv", { at: new Date(startedAt), isSynthetic: hasSyntheticFigures }),
  )
