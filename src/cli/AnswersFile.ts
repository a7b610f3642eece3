/** Opens the file in which `authority check` keeps the answers that the user has paid for. */
import { chmodSync, existsSync, mkdirSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join, posix, win32 } from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Answers, memoryAnswers } from "../lists/Answers.ts"
import * as SqlAnswers from "../lists/SqlAnswers.ts"
import * as Failure from "../database/Failure.ts"

/** The default place, as the help shows it. */
export const shownPlace =
  "authority/answers.db in $XDG_STATE_HOME or ~/.local/state, on Windows in %LOCALAPPDATA%"

/** Returns the path of the file, or undefined for a run that keeps nothing. */
export const placeOf = (asked: string | undefined): string | undefined =>
  asked === "none" ? undefined : (asked ?? join(stateFolder(), "authority", "answers.db"))

/** The user's folder for program state. Relative paths are ignored, as XDG specifies. */
export const stateFolderOf = (
  platform: NodeJS.Platform,
  { LOCALAPPDATA, XDG_STATE_HOME }: NodeJS.ProcessEnv,
  home: string,
) => {
  const [{ isAbsolute, join: joined }, named, ...otherwise] =
    platform === "win32"
      ? ([win32, LOCALAPPDATA, "AppData", "Local"] as const)
      : ([posix, XDG_STATE_HOME, ".local", "state"] as const)
  return named !== undefined && isAbsolute(named) ? named : joined(home, ...otherwise)
}

const stateFolder = () => stateFolderOf(process.platform, process.env, homedir())

/** Opens the file until the scope closes. A run that only reads does not create the file. */
export const open = (
  place: string | undefined,
  { isReadOnly }: { readonly isReadOnly: boolean },
): Effect.Effect<Answers, SqlAnswers.AnswersFailed, Scope.Scope> =>
  place === undefined || (isReadOnly && !existsSync(place))
    ? Effect.sync(memoryAnswers)
    : Effect.zipRight(makeFolder(place), SqlAnswers.open(place))

/** Creates our own folder, which only its user may read. */
const makeFolder = (place: string) =>
  Effect.try({
    try: () => {
      const folder = dirname(place)
      if (folder !== join(stateFolder(), "authority")) return
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      chmodSync(folder, 0o700)
    },
    catch: (cause) =>
      new SqlAnswers.AnswersFailed({
        message: `the folder of ${place} cannot be made: ${Failure.ofFile(cause)}; name another file with --answers`,
        cause,
      }),
  })
