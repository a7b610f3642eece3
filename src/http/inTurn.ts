const waiting: Array<() => void> = []
let isScheduled = false

/** How many run in one turn: few, so that the turn is short. */
const actsPerTurn = 4

/**
 * Runs `act` later, in a turn of the event loop with few others. What many clients can cause at one
 * instant is run so, because other requests would wait until all of it is done.
 */
export const inTurn = (act: () => void): void => {
  waiting.push(act)
  schedule()
}

const schedule = () => {
  if (isScheduled || waiting.length === 0) return
  isScheduled = true
  setImmediate(turn)
}

const turn = () => {
  isScheduled = false
  for (const act of waiting.splice(0, actsPerTurn)) act()
  schedule()
}
