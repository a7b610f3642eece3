/**
 * Promises that an `AbortSignal` cancels. A settled promise leaves no listener and no timer behind.
 */

/**
 * Makes a controller that aborts together with `signal`, until `forget` is called.
 * `AbortSignal.any` would do the same, but needs Node 20.3.
 */
export const following = (signal: AbortSignal | undefined) => {
  const controller = new AbortController()
  const abort = (reason: unknown) => controller.abort(reason)
  const follow = () => abort(signal?.reason)
  if (signal?.aborted === true) follow()
  else signal?.addEventListener("abort", follow)
  const forget = () => signal?.removeEventListener("abort", follow)
  return { signal: controller.signal, abort, forget }
}

/** Settles like the promise, or rejects with the signal's reason when the signal aborts first. */
export const orAborted = <A>(promise: Promise<A>, signal: AbortSignal | undefined): Promise<A> =>
  new Promise((resolve, reject) => {
    const forget = () => signal?.removeEventListener("abort", abort)
    const abort = () => {
      forget()
      reject(signal?.reason)
    }
    promise.then(resolve, reject).finally(forget)
    if (signal?.aborted === true) abort()
    else signal?.addEventListener("abort", abort)
  })

/** Waits `ms` milliseconds. Rejects with the signal's reason when the signal aborts first. */
export const sleep = async (ms: number, signal: AbortSignal | undefined) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, longestTimerMs))
  })
  try {
    await orAborted(slept, signal)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The longest delay of `setTimeout`, in milliseconds. A timer with a longer delay fires at once.
 */
export const longestTimerMs = 2 ** 31 - 1
