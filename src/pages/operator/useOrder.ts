import { useMemo } from "preact/hooks"
import { v4 as uuid } from "uuid"

/**
 * An idempotency key for what a form says: when an answer was lost, the same form can be sent again
 * and the change is made once.
 */
export const useOrder = (...fields: ReadonlyArray<string>) => useMemo(() => uuid(), fields)
