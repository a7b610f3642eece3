import { assert, describe, it } from "@effect/vitest"
import { stateFolderOf } from "../../src/cli/AnswersFile.ts"

describe("the folder in which authority check keeps its answers", () => {
  it.each([
    ["linux", { XDG_STATE_HOME: "/state" }, "/home/a", "/state"],
    ["linux", { XDG_STATE_HOME: "state" }, "/home/a", "/home/a/.local/state"],
    ["darwin", {}, "/Users/a", "/Users/a/.local/state"],
    ["win32", { LOCALAPPDATA: "D:\\Local" }, "C:\\Users\\a", "D:\\Local"],
    ["win32", { XDG_STATE_HOME: "C:\\state" }, "C:\\Users\\a", "C:\\Users\\a\\AppData\\Local"],
  ] as const)(
    "on %s with %j and the home %s, the answers are in %s",
    (platform, env, home, folder) => {
      assert.strictEqual(stateFolderOf(platform, env, home), folder)
    },
  )
})
