/** RFC 4180; and what a spreadsheet would take for a formula is made text. */
export const csvCell = (value: string | number | null): string => {
  if (typeof value === "number") return String(value)
  const text = /^[=+\-@\t]/.test(value ?? "") ? `'${value}` : (value ?? "")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
