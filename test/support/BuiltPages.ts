/** Builds the pages before the tests, as `npm start` does before the service. */
export const setup = async () => {
  await import("../../scripts/build-pages.ts")
}
