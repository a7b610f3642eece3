/** Builds into `dist` the program, and the package for other projects. */
import { bundlePackage } from "./bundle-package.ts"
import { bundleProgram } from "./bundle-program.ts"
import { dist } from "./bundle.ts"

await bundleProgram()
await bundlePackage(dist)
