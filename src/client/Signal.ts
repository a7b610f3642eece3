/** Promises that an `AbortSignal` cancels. A settled promise leaves no listener or timer behind. */

/** Settles like the promise, or rejects with the signal's reason when the signal aborts first. */
export const orAborted = <A>(promise: Promise<A>, signal: AbortSignal | undefined): Promise<A> =>
  new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason)
    promise.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort))
    if (signal?.aborted === true) abort()
    else signal?.addEventListener("abort", abort, { once: true })
  })

/** Waits `ms` milliseconds. Rejects with the signal's reason when the signal aborts first. */
export const sleep = async (ms: number, signal: AbortSignal | undefined) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, longestTimerMs))
  })
  await orAborted(slept, signal).finally(() => clearTimeout(timer))
}

export const either = (one: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? one : AbortSignal.any([one, other])

/** The longest delay of `setTimeout`, in milliseconds. A timer with a longer delay fires at once. */
export const longestTimerMs = 2 ** 31 - 1
