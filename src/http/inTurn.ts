const waiting: Array<() => void> = []

/**
 * Runs `act` later, in a turn of the event loop of its own. What many clients can cause at one instant
 * is run so, because other requests would wait until all of it is done.
 */
export const inTurn = (act: () => void): void => {
  if (waiting.push(act) === 1) setImmediate(turn)
}

const turn = () => {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(turn)
}
