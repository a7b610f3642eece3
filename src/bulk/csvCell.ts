/**
 * Formats a CSV cell as in RFC 4180. Adds `'` to text that a spreadsheet would run as a formula.
 */
export const csvCell = (value: string | number | null): string => {
  if (typeof value === "number") return String(value)
  const text = /^[=+\-@\t]/.test(value ?? "") ? `'${value}` : (value ?? "")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
