/**
 * Compiles a script, every function of it, and keeps what V8 made of it: `code-cache.ts SCRIPT
 * CACHE`. V8 makes the same bytes again only when it draws the same random numbers, so this is to
 * be run with `--random-seed`, the one such flag that V8 does not expect of who uses the cache.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { Script } from "node:vm"

const [script = "", cache = ""] = process.argv.slice(2)
setFlagsFromString("--no-lazy")
const compiled = new Script(readFileSync(script, "latin1"), { filename: "authority.cjs" })
// V8 refuses a cache that was made under other flags.
setFlagsFromString("--lazy")
writeFileSync(cache, compiled.createCachedData())
