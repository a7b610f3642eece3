/** Builds the program once for all test projects of a run. */
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** Whether `dist` was built from these sources. */
    readonly isBuilt: boolean
  }
}

export default async function setup({ vitest }: TestProject) {
  const root = vitest.getRootProject()
  if (root.getProvidedContext().isBuilt) return
  await import("../../scripts/build.ts")
  root.provide("isBuilt", true)
}
