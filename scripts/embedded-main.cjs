/**
 * The main script of the executable. It runs the program from the code cache of the build, which
 * shortens the time to the first answer by more than a third. If V8 rejects the cache, V8 compiles
 * the script.
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
