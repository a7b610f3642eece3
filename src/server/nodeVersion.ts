/**
 * Refuses to run on an old version of Node. Below Node-API 10, which came with 22.14, the SQLite
 * addon crashes the process instead of failing.
 */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `authority-metrics/server needs Node 22.18 or newer, but this is ${process.version}.\n`,
  )
  process.exit(1)
}
