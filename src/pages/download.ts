/** Lets the browser download a text. */
export const download = (
  text: string,
  type: "csv" | "json",
  {
    at,
    isSynthetic,
    name = "authority",
  }: { readonly at: Date; readonly isSynthetic: boolean; readonly name?: string },
) => {
  const mediaType = type === "csv" ? "text/csv" : "application/json"
  const url = URL.createObjectURL(new Blob([text], { type: `${mediaType};charset=utf-8` }))
  const link = document.createElement("a")
  link.href = url
  link.download = `${name}${isSynthetic ? "-synthetic" : ""}-${at.toISOString().slice(0, 10)}.${type}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
