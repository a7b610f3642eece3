import { Empty } from "./Empty.tsx"
import { History } from "./History.tsx"
import { KeyPanel } from "./KeyPanel.tsx"
import { ListPanel } from "./ListPanel.tsx"
import { RunPanel } from "./RunPanel.tsx"
import { hasSyntheticFigures, shown, storeProblem } from "./ConsoleState.ts"

export const Console = () => (
  <main>
    {hasSyntheticFigures && <Synthetic />}
    <div class="side">
      <div class="desk">
        <KeyPanel />
        <ListPanel />
      </div>
      <div class="past">
        <History />
      </div>
    </div>
    <div class="results">
      <div class="store" role="alert">
        {storeProblem.value !== undefined && <p class="notice">{storeProblem.value}</p>}
      </div>
      {shown.value === undefined ? <Empty /> : <RunPanel key={shown.value} run={shown.value} />}
    </div>
  </main>
)

const Synthetic = () => (
  <p class="synthetic" role="note">
    <strong>Synthetic figures.</strong> This service uses its sandbox provider, which computes the
    figures from the domain name. They say nothing about real sites.
  </p>
)
