import { Empty } from "./Empty.tsx"
import { Kept } from "./Kept.tsx"
import { KeyPanel } from "./KeyPanel.tsx"
import { ListPanel } from "./ListPanel.tsx"
import { RunPanel } from "./RunPanel.tsx"
import { hasSyntheticFigures, isUnkept, oldRuns, shown } from "./ConsoleState.ts"

export const Console = () => (
  <main>
    {hasSyntheticFigures && <Synthetic />}
    <div class="side">
      <div class="desk">
        <KeyPanel />
        <ListPanel />
      </div>
      <div class="past">
        <Kept />
      </div>
    </div>
    <div class="results">
      <div class="store" role="alert">
        {isUnkept.value && (
          <p class="notice">
            This browser does not keep the answers, perhaps because the window is private. Export
            the results before you close the page.
          </p>
        )}
      </div>
      {oldRuns.value.some(({ checked, failed, total }) => checked + failed < total) && (
        <p class="notice">
          Before anything is paid: finish open runs with 1.1.0 first. This version does not continue
          them, and pays for their addresses again.
        </p>
      )}
      {shown.value === undefined ? (
        <Empty />
      ) : (
        <RunPanel key={shown.value.list} shown={shown.value} />
      )}
    </div>
  </main>
)

const Synthetic = () => (
  <p class="synthetic" role="note">
    <strong>Synthetic figures.</strong> This service uses its sandbox provider, which computes the
    figures from the domain name. They say nothing about real sites.
  </p>
)
