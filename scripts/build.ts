/** Builds the program, and the package for other projects, into `dist`. */
import { bundlePackage } from "./bundle-package.ts"
import { bundleProgram, dist } from "./bundle.ts"

await bundleProgram()
await bundlePackage(dist)
