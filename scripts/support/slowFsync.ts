import { execFileSync } from "node:child_process"
import { join } from "node:path"

/**
 * Returns the environment of a program whose fsyncs take 1 ms longer. Compiles `slow-fsync.c` into
 * the folder, which needs Linux and a C compiler.
 */
export const slowFsync = (folder: string) => {
  const source = join(import.meta.dirname, "../bench/slow-fsync.c")
  const library = join(folder, "slow-fsync.so")
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, source])
  return { LD_PRELOAD: library }
}
