/**
 * Gives each test file the methods of `it` anew: `layer` of @effect/vitest puts others in their
 * place, with its own clock, and files that share a process share `it`.
 */
import { it, makeMethods } from "@effect/vitest"

makeMethods(it)
