/**
 * Refuses to run on an old version of Node. Import this module first: below Node-API 10, the SQLite
 * addon crashes the process instead of failing.
 */
if (Number(process.versions["napi"]) < 10) {
  process.stderr.write(
    `authority-metrics needs Node 22.14 or newer, but this is ${process.version}. In the project folder, 'npm start' uses a suitable version.\n`,
  )
  process.exit(1)
}
