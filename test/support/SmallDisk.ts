/** A small disk that can fill up or become read-only. It is a tmpfs, so it needs root. */
import { execFileSync } from "node:child_process"
import { appendFileSync, mkdtempSync, rmSync, rmdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"

const mount = (...args: ReadonlyArray<string>) =>
  execFileSync("mount", args, { stdio: ["ignore", "ignore", "pipe"] })

const mounted = (sizeKb: number) => {
  const folder = mkdtempSync(join(tmpdir(), "authority-disk-"))
  try {
    mount("-t", "tmpfs", "-o", `size=${sizeKb}k`, "tmpfs", folder)
    return folder
  } catch (error) {
    rmdirSync(folder)
    throw error
  }
}

const unmount = (folder: string) => {
  execFileSync("umount", ["--lazy", folder])
  rmdirSync(folder)
}

/** Returns why this machine cannot mount the disk, or undefined when it can. */
export const isMissing = (): string | undefined => {
  try {
    unmount(mounted(64))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error)
  }
}

const takeUp = (file: string, kb: number) => {
  try {
    for (let i = 0; i < kb; i++) appendFileSync(file, Buffer.alloc(1024, 1))
  } catch (error) {
    if (!String(error).includes("ENOSPC")) throw error
  }
}

/** Makes a file read-only, even for root, until the scope ends. */
export const protect = (file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      mount("--bind", file, file)
      mount("-o", "remount,bind,ro", file)
    }),
    () => Effect.sync(() => void execFileSync("umount", ["--lazy", file])),
  )

/** Mounts a disk of `sizeKb` for the scope. A ballast file fills `ballastKb` of it until `free`. */
export const make = (sizeKb: number, ballastKb: number) =>
  Effect.acquireRelease(
    Effect.sync(() => mounted(sizeKb)),
    (folder) => Effect.sync(() => unmount(folder)),
  ).pipe(
    Effect.map((folder) => {
      const ballast = join(folder, "ballast")
      writeFileSync(ballast, Buffer.alloc(ballastKb * 1024, 1))
      return {
        folder,
        free: Effect.sync(() => rmSync(ballast)),
        /** Fills the rest of the disk until `free`. */
        fill: Effect.sync(() => takeUp(ballast, sizeKb)),
        /** Makes the disk read-only or writable. Fails while a file on it is open for writing. */
        setReadOnly: (readOnly: boolean) =>
          Effect.sync(() => void mount("-o", `remount,${readOnly ? "ro" : "rw"}`, folder)),
      }
    }),
  )
