/** Builds the package for other projects before the tests. */
import { bundlePackage } from "../../scripts/bundle-package.ts"
import { dist } from "../../scripts/bundle.ts"

export const setup = () => bundlePackage(dist)
