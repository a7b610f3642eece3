/** Reads libpq's password file: https://www.postgresql.org/docs/18/libpq-pgpass.html */
import { readFileSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

export interface Login {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/**
 * Returns the password of the first line that matches, or undefined. As in libpq, ignores a file to
 * which users other than its owner have access.
 */
export const passwordFor = (
  { database, host, port, user }: Login,
  file: string = process.env["PGPASSFILE"] || join(homedir(), ".pgpass"),
): string | undefined => {
  const login = [host, String(port), database, user]
  return linesOf(file)
    .map(fieldsOf)
    .find((fields) =>
      login.every((field, index) => ["*", field].includes(fields[index] ?? "")),
    )?.[4]
}

const linesOf = (file: string): ReadonlyArray<string> => {
  const stats = statSync(file, { throwIfNoEntry: false })
  const isPrivate = process.platform === "win32" || ((stats?.mode ?? 0) & 0o077) === 0
  if (stats?.isFile() !== true || !isPrivate) return []
  return readFileSync(file, "utf8").split(/\r?\n/).filter(isEntry)
}

const isEntry = (line: string) => line !== "" && !line.startsWith("#")

/** Colons separate the fields. In a field, a backslash escapes a colon or a backslash. */
const fieldsOf = (line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/(?<=^|:)(?:\\.|[^\\:])*/g), ([field]) =>
    field.replaceAll(/\\(.)/g, "$1"),
  )
