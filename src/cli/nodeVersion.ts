/**
 * Imported before everything else: below N-API 10 the SQLite addon crashes the process instead of
 * failing, so an older Node is told here, while nothing is loaded yet.
 */
const nodeApi = Number(process.versions["napi"])

if (nodeApi < 10) {
  process.stderr.write(
    `authority needs Node 22.14 or newer, this is ${process.version}; in the project's folder 'npm start' brings its own.\n`,
  )
  process.exit(1)
}
