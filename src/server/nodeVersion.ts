/**
 * Ends the process when the version of Node is not supported. Node before 22.14 lacks Node-API 10,
 * so the SQLite addon would crash the process without a message.
 */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `authority-metrics/server needs Node 22.18 or newer, but this is ${process.version}.\n`,
  )
  process.exit(1)
}
