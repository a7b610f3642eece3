/**
 * Ends the process with a message when Node is older than 22.18, the oldest supported version.
 * Without this check, Node before 22.14 would crash without a message when it loads the SQLite
 * addon, because these versions lack Node-API 10.
 */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `authority-metrics/server needs Node 22.18 or newer, but this is ${process.version}.\n`,
  )
  process.exit(1)
}
