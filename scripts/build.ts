/** Builds the program, and the package for other projects, into `dist`. */
import { bundlePackage } from "./bundle-package.ts"
import { bundleProgram } from "./bundle-program.ts"
import { dist } from "./bundle.ts"

await bundleProgram()
await bundlePackage(dist)
