/** Renders the console into its page. */
import { signal } from "@preact/signals"
import { render } from "preact"
import { Console } from "./Console.tsx"
import { Header } from "./Header.tsx"
import { keepFocus } from "./keepFocus.ts"
import { Operator } from "./operator/Operator.tsx"

const hasAdministration = document.documentElement.dataset["administration"] !== undefined
const isOperator = signal(false)

const readPart = () => (isOperator.value = hasAdministration && location.hash === "#operator")
addEventListener("hashchange", readPart)
readPart()

const Page = () => (
  <>
    <Header hasAdministration={hasAdministration} isOperator={isOperator.value} />
    {isOperator.value ? <Operator /> : <Console />}
  </>
)

const place = document.getElementById("console")
if (place !== null) render(<Page />, place)
keepFocus()
