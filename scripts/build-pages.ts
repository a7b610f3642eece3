/** Writes the web pages to `dist`, for a program that runs from its sources. */
try {
  const { writePages } = await import("./pages.ts")
  await writePages()
} catch (error) {
  // The service starts without its pages, so missing development dependencies are not an error.
  if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) {
    throw error
  }
  console.error(
    "authority: /console and /docs were not built, because the development dependencies are missing",
  )
}
