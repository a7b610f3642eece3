/**
 * Completes the page of the API reference in the browser: writes the service's address into the
 * examples, and adds to each example a button that copies the example.
 */
const base = new URL(".", location.href).href.replace(/\/$/, "")

const copyButton = (pre: HTMLElement) => {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  button.ariaLabel = `Copy: ${pre.ariaLabel ?? "example"}`
  button.addEventListener("click", async () => {
    // Browsers allow `clipboard` only under HTTPS and on localhost. Elsewhere, only select the
    // text.
    getSelection()?.selectAllChildren(pre)
    if (!isSecureContext) return
    await navigator.clipboard.writeText(pre.textContent ?? "")
    button.textContent = "Copied"
    setTimeout(() => (button.textContent = "Copy"), 2000)
  })
  return button
}

for (const pre of document.querySelectorAll("pre")) {
  pre.textContent = (pre.textContent ?? "").replaceAll("$BASE", base)
  pre.before(copyButton(pre))
}
