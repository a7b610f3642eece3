import { hasSyntheticFigures, isUnkept, shown } from "./ConsoleState.ts"
import { key } from "../Account.ts"
import { Entry } from "./KeyPanel.tsx"
import { isEditing, ListPanel } from "./ListPanel.tsx"
import { RunPanel } from "./RunPanel.tsx"

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
