/**
 * The plain code that the ablation benchmark puts in place of src/cli/Heap.ts: V8 keeps its own
 * defaults.
 */
import * as Layer from "effect/Layer"

export const layer = Layer.empty
