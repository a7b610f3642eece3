import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: [
      "test/support/PostgresServer.ts",
      "test/support/BuiltPages.ts",
      "test/support/Chromium.ts",
    ],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
