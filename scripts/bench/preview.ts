/**
 * Compares the processor time of a preview with that of a check of the same known URLs, on one
 * service. Prints the ratio for requests of 1 and of 50 URLs.
 *
 *     npm run build && node scripts/bench/preview.ts [--seconds 3] [--rounds 5]
 */
import { join } from "node:path"
import { parseArgs } from "node:util"
import { load, writeRequests } from "./measure.ts"
import { batches, knownUrls } from "./requests.ts"
import * as Servers from "./servers.ts"
import { median } from "../support/quantile.ts"
import { previewPath } from "../../src/contract/Wire.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "5" },
  },
})
const seconds = Number(values.seconds)

const folder = Servers.newFolder()
const vendor = await Servers.start("the vendor", folder, [Servers.script("vendor.ts")])
const server = await Servers.startService({
  name: "the service",
  cwd: folder,
  program: join(Servers.dist, "authority.cjs"),
  settings: Servers.mozSettings(vendor),
})
try {
  await Servers.learn(server)
  for (const count of [1, 50]) {
    const checks = batches(knownUrls, { count, isNamed: false })
    const previews = checks.map((request) => ({ ...request, path: previewPath }))
    const [checking, previewing] = [join(folder, "checks"), join(folder, "previews")]
    writeRequests(checking, checks)
    writeRequests(previewing, previews)
    const ratios: Array<number> = []
    for (let round = 0; round <= Number(values.rounds); round++) {
      const check = await load(server, { file: checking, seconds })
      const preview = await load(server, { file: previewing, seconds })
      // The first round warms up.
      if (round > 0) ratios.push(preview.cpuUs / check.cpuUs)
      console.log(
        `${count} URLs: check ${check.cpuUs.toFixed(0)} µs, preview ${preview.cpuUs.toFixed(0)} µs`,
      )
    }
    const [least = 0, most = 0] = [Math.min(...ratios), Math.max(...ratios)]
    console.log(
      `${count} URLs: a preview takes ${median(ratios).toFixed(2)} × the processor time of a check ` +
        `(in each round ${least.toFixed(2)} to ${most.toFixed(2)})`,
    )
  }
} finally {
  await Servers.stopAll()
}
