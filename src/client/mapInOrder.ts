/**
 * Runs `call` for each item of a list, with at most `concurrency` calls in flight. Yields the
 * results in the order of the list. If the list throws, yields the results of the calls in flight
 * before throwing the list's error.
 */
export async function* mapInOrder<A, B>(
  list: AsyncIterator<A>,
  concurrency: number,
  call: (item: A, index: number) => Promise<B>,
): AsyncGenerator<B, void> {
  // NaN counts as 1: no number is less than NaN, so the list would never be read.
  const atOnce = Math.max(1, concurrency || 1)
  const calls: Array<Promise<{ readonly _tag: "Result"; readonly result: B }>> = []
  const read = () =>
    list.next().then(
      ({ done, value }) =>
        done === true ? { _tag: "End" as const, throws: [] } : { _tag: "Item" as const, value },
      (error: unknown) => ({ _tag: "End" as const, throws: [error] }),
    )
  let reading: ReturnType<typeof read> | undefined
  let end: ReadonlyArray<unknown> | undefined
  for (let index = 0; end === undefined || calls.length > 0;) {
    if (end === undefined && calls.length < atOnce) reading ??= read()
    const event = await Promise.race([
      ...calls.slice(0, 1),
      ...(reading === undefined ? [] : [reading]),
    ])
    if (event._tag === "Result") {
      void calls.shift()
      yield event.result
      continue
    }
    reading = undefined
    if (event._tag === "End") end = event.throws
    else {
      const started = call(event.value, index++).then((result) => ({
        _tag: "Result" as const,
        result,
      }))
      // The loop throws the error of a failed call when that call's result is next. Until then,
      // this handler prevents Node from ending the process because of an unhandled rejection.
      started.catch(() => undefined)
      calls.push(started)
    }
  }
  for (const error of end) throw error
}
