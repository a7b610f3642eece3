/** Renders the console into its page. */
import { render } from "preact"
import { Console } from "./Console.tsx"

const place = document.getElementById("console")
if (place !== null) render(<Console />, place)
