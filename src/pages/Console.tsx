import { Header } from "./Header.tsx"
import { History } from "./History.tsx"
import { KeyPanel } from "./KeyPanel.tsx"
import { ListPanel } from "./ListPanel.tsx"
import { RunPanel } from "./RunPanel.tsx"
import { hasSyntheticFigures, shown, storeProblem } from "./ConsoleState.ts"

export const Console = () => (
  <>
    <Header />
    <main>
      {hasSyntheticFigures && <Synthetic />}
      <div class="desk">
        <KeyPanel />
        <ListPanel />
      </div>
      <div class="results">
        <div class="store" role="alert">
          {storeProblem.value !== undefined && <p class="notice">{storeProblem.value}</p>}
        </div>
        {shown.value === undefined ? <Nothing /> : <RunPanel key={shown.value} run={shown.value} />}
      </div>
      <div class="past">
        <History />
      </div>
    </main>
  </>
)

const Synthetic = () => (
  <p class="synthetic" role="note">
    <strong>Synthetic figures.</strong> This service uses its sandbox provider, which computes the
    figures from the name. They say nothing about real sites.
  </p>
)

const Nothing = () => (
  <section class="card nothing" aria-labelledby="nothing">
    <svg viewBox="0 0 120 64" aria-hidden="true">
      <path d="M12 58V40M32 58V26M52 58V34M72 58V12M92 58V22M108 58V46" />
    </svg>
    <h2 id="nothing">Nothing checked yet</h2>
    <p>
      Enter a key, paste a list of domains or pages, and start the check. The figures appear here as
      they arrive: charts of their distribution, and a table that you can sort and filter.
    </p>
    <p>Only successful checks are charged.</p>
  </section>
)
