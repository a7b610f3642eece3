/**
 * Returns the name most similar to `word`; undefined when more than half of `word` would have to
 * change.
 */
export const nearestName = (word: string, names: Iterable<string>): string | undefined => {
  const [nearest] = Array.from(names, (name) => ({
    name,
    distance: distanceOf(word.toLowerCase(), name.toLowerCase()),
  })).toSorted((a, b) => a.distance - b.distance)
  return nearest && nearest.distance <= word.length / 2 ? nearest.name : undefined
}

/** The Levenshtein distance: the number of characters to add, remove or replace. */
const distanceOf = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, character] of Array.from(from).entries()) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      next.push(
        Math.min(
          (row[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (row[column - 1] ?? 0) + (character === to[column - 1] ? 0 : 1),
        ),
      )
    }
    row = next
  }
  return row[to.length] ?? 0
}
