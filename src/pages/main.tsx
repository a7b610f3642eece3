/** Renders the console into its page. */
import { signal } from "@preact/signals"
import { render } from "preact"
import { Console } from "./Console.tsx"
import { Header } from "./Header.tsx"
import { keepFocus } from "./keepFocus.ts"
import { Operator } from "./operator/Operator.tsx"
import * as Theme from "./Theme.ts"

const hasAdministration = document.documentElement.dataset["administration"] !== undefined
const isOperator = signal(false)

const readPart = () => (isOperator.value = hasAdministration && location.hash === "#operator")
addEventListener("hashchange", readPart)
readPart()

const Page = () => (
  <>
    <Header root="" current={isOperator.value ? "operator" : "console"} />
    {isOperator.value ? <Operator /> : <Console />}
  </>
)

Theme.start()

const place = document.getElementById("console")
if (place !== null) render(<Page />, place)
keepFocus()
