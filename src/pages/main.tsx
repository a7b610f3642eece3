/** Renders the console into its page. */
import { signal } from "@preact/signals"
import { render } from "preact"
import { Console } from "./console/Console.tsx"
import { Header } from "./Header.tsx"
import { Help, KeyMenu } from "./console/KeyPanel.tsx"
import { keepFocus } from "./keepFocus.ts"
import * as Theme from "./Theme.ts"
import { Usage } from "./Usage.tsx"

const hash = signal(location.hash)
addEventListener("hashchange", () => (hash.value = location.hash))

const Page = () => {
  const isUsage = hash.value === "#usage"
  return (
    <>
      <Header root="" current={isUsage ? "usage" : "console"}>
        <KeyMenu />
        <Help />
      </Header>
      {isUsage ? <Usage /> : <Console />}
    </>
  )
}

Theme.start()

const place = document.getElementById("console")
if (place !== null) render(<Page />, place)
keepFocus()
