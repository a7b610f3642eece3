/** Builds the program once for all test projects of a run. */
import type { TestProject } from "vitest/node"
import { bundleProgram } from "../../scripts/bundle.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** Whether `dist` has a program that was built from these sources. */
    readonly isBuilt: boolean
  }
}

export default async function setup({ vitest }: TestProject) {
  const root = vitest.getRootProject()
  if (root.getProvidedContext().isBuilt) return
  await bundleProgram()
  root.provide("isBuilt", true)
}
