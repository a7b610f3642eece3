/**
 * The executable's first lines: they run the program from code that was compiled by the build,
 * which halves the time to the first answer. V8 checks that the code is its own, and compiles the
 * script again if not.
 */
const { getRawAsset } = require("node:sea")
const { debuglog } = require("node:util")
const { Script } = require("node:vm")

const program = new Script(Buffer.from(getRawAsset("authority.cjs")).toString("latin1"), {
  filename: "authority.cjs",
  cachedData: Buffer.from(getRawAsset("authority.cache")),
})
// Printed with NODE_DEBUG=authority; the smoke test looks for it.
debuglog("authority")("code cache %s", program.cachedDataRejected ? "rejected" : "accepted")

program.runInThisContext()(require, module)
