/**
 * A JSON parser that builds only the values that a schema declares. It checks the syntax of all
 * other values, but allocates nothing for them. `JSON.parse` would take up to 100 ms for 512 KiB of
 * nested lists or of distinct field names.
 */
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"

export interface Reading {
  /** The parsed value, without the fields that the schema does not declare. */
  readonly value: unknown
  /** False when a list had more than `maxItems` items. */
  readonly isWhole: boolean
}

/**
 * Makes a JSON parser. The parser returns undefined for invalid JSON, and keeps at most `maxItems`
 * items of each list. If the text has a list or an object where the schema declares another type,
 * the parser returns `[]` or `{}` in its place.
 */
export const make = (
  { ast }: Schema.Schema.AnyNoContext,
  maxItems: number,
): ((text: string) => Reading | undefined) => {
  const read = readOf(ast, maxItems)
  return (text) => {
    // JSON forbids NUL, so this NUL ends every loop. Without the NUL, the loops would read past the
    // end of the string, which is slow.
    const ended = `${text}\0`
    const cursor: Cursor = { text: ended, at: space(ended, 0), isWhole: true }
    try {
      const value = read(cursor)
      const isOver = space(ended, cursor.at) === text.length
      return isOver ? { value, isWhole: cursor.isWhole } : undefined
    } catch (error) {
      if (error instanceof NotJson) return undefined
      throw error
    }
  }
}

interface Cursor {
  readonly text: string
  /** The index where the next value begins. */
  at: number
  isWhole: boolean
}

/** Reads the value at the cursor and moves the cursor past it. */
type Read = (cursor: Cursor) => unknown

class NotJson extends Error {}

const readOf = (ast: SchemaAST.AST, maxItems: number): Read => {
  switch (ast._tag) {
    case "Refinement":
      return readOf(ast.from, maxItems)
    case "TupleType": {
      const [item] = ast.rest
      if (ast.elements.length > 0 || ast.rest.length !== 1 || item === undefined) return readAll
      return listReader(readOf(item.type, maxItems), maxItems)
    }
    case "TypeLiteral": {
      if (ast.indexSignatures.length > 0) return readAll
      const fields = ast.propertySignatures.map(
        ({ name, type }) => [String(name), readOf(type, maxItems)] as const,
      )
      return objectReader(new Map(fields))
    }
    case "StringKeyword":
    case "NumberKeyword":
    case "BooleanKeyword":
      return readScalar
    default:
      return readAll
  }
}

const readAll: Read = (cursor) => {
  const { at, text } = cursor
  cursor.at = skip(text, at)
  return JSON.parse(text.slice(at, cursor.at))
}

const readScalar: Read = (cursor) => {
  const first = cursor.text.charCodeAt(cursor.at)
  if (first !== code.openList && first !== code.openObject) return readAll(cursor)
  cursor.at = skip(cursor.text, cursor.at)
  return first === code.openList ? [] : {}
}

const listReader =
  (readItem: Read, maxItems: number): Read =>
  (cursor) => {
    const { text } = cursor
    if (text.charCodeAt(cursor.at) !== code.openList) return readScalar(cursor)
    const items: Array<unknown> = []
    cursor.at = space(text, cursor.at + 1)
    if (text.charCodeAt(cursor.at) === code.closeList) {
      cursor.at++
      return items
    }
    for (;;) {
      if (items.length < maxItems) items.push(readItem(cursor))
      else {
        cursor.isWhole = false
        cursor.at = skip(text, cursor.at)
      }
      if (isLast(cursor, code.closeList)) return items
    }
  }

const objectReader =
  (fields: ReadonlyMap<string, Read>): Read =>
  (cursor) => {
    const { text } = cursor
    if (text.charCodeAt(cursor.at) !== code.openObject) return readScalar(cursor)
    const values = new Map<string, unknown>()
    cursor.at = space(text, cursor.at + 1)
    if (text.charCodeAt(cursor.at) === code.closeObject) {
      cursor.at++
      return {}
    }
    for (;;) {
      const end = stringEnd(text, cursor.at)
      const name = nameOf(text.slice(cursor.at, end))
      cursor.at = space(text, colonEnd(text, end))
      const read = fields.get(name)
      if (read === undefined) cursor.at = skip(text, cursor.at)
      // When a field name repeats, the last value wins, as in `JSON.parse`.
      else values.set(name, read(cursor))
      if (isLast(cursor, code.closeObject)) return Object.fromEntries(values)
    }
  }

const nameOf = (quoted: string): string =>
  quoted.includes("\\") ? String(JSON.parse(quoted)) : quoted.slice(1, -1)

/** Moves past the comma or the closing bracket after a value. Returns true for the bracket. */
const isLast = (cursor: Cursor, end: number): boolean => {
  const { text } = cursor
  const at = space(text, cursor.at)
  const next = text.charCodeAt(at)
  if (next !== end && next !== code.comma) throw new NotJson()
  cursor.at = next === end ? at + 1 : space(text, at + 1)
  return next === end
}

/**
 * The closing brackets that `skip` still expects, as a stack. All calls of `skip` share this array,
 * which saves allocations. That is safe, because only one call runs at a time.
 */
let ends = new Uint8Array(64)

/**
 * Returns the index after the value that starts at `at`. Uses a loop, because recursion could
 * overflow the call stack.
 */
const skip = (text: string, at: number): number => {
  let depth = 0
  for (;;) {
    const first = text.charCodeAt(at)
    if (first === code.openList || first === code.openObject) {
      const end = first === code.openList ? code.closeList : code.closeObject
      at = space(text, at + 1)
      if (text.charCodeAt(at) !== end) {
        if (depth === ends.length) ends = doubled(ends)
        ends[depth++] = end
        if (end === code.closeObject) at = space(text, colonEnd(text, stringEnd(text, at)))
        continue
      }
      at++
    } else at = scalarEnd(text, at)

    while (depth > 0) {
      at = space(text, at)
      if (text.charCodeAt(at) !== ends[depth - 1]) break
      at++
      depth--
    }
    if (depth === 0) return at
    if (text.charCodeAt(at) !== code.comma) throw new NotJson()
    at = space(text, at + 1)
    if (ends[depth - 1] === code.closeObject) {
      at = space(text, colonEnd(text, stringEnd(text, at)))
    }
  }
}

const doubled = (bytes: Uint8Array) => {
  const more = new Uint8Array(bytes.length * 2)
  more.set(bytes)
  return more
}

const scalarEnd = (text: string, at: number): number => {
  const first = text.charCodeAt(at)
  if (first === code.quote) return stringEnd(text, at)
  if (first === code.minus || isDigit(first)) return numberEnd(text, at)
  for (const word of ["true", "false", "null"]) {
    if (text.startsWith(word, at)) return at + word.length
  }
  throw new NotJson()
}

const stringEnd = (text: string, start: number): number => {
  if (text.charCodeAt(start) !== code.quote) throw new NotJson()
  for (let at = start + 1; at < text.length; at++) {
    const next = text.charCodeAt(at)
    if (next === code.quote) return at + 1
    if (next < 0x20) throw new NotJson()
    if (next !== code.backslash) continue
    at++
    if (text[at] === "u") {
      for (const end = at + 4; at < end;) {
        if (!isHexDigit(text.charCodeAt(++at))) throw new NotJson()
      }
    } else if (at >= text.length || !'"\\/bfnrt'.includes(text.charAt(at))) throw new NotJson()
  }
  throw new NotJson()
}

const numberEnd = (text: string, start: number): number => {
  let at = text.charCodeAt(start) === code.minus ? start + 1 : start
  at = text.charCodeAt(at) === code.zero ? at + 1 : digitsEnd(text, at)
  if (text.charCodeAt(at) === code.point) at = digitsEnd(text, at + 1)
  const exponent = text.charCodeAt(at)
  if (exponent !== code.e && exponent !== code.E) return at
  const sign = text.charCodeAt(at + 1)
  return digitsEnd(text, sign === code.plus || sign === code.minus ? at + 2 : at + 1)
}

/** Returns the index after the digits. At least one digit is required. */
const digitsEnd = (text: string, start: number): number => {
  let at = start
  while (isDigit(text.charCodeAt(at))) at++
  if (at === start) throw new NotJson()
  return at
}

const isDigit = (next: number) => next >= code.zero && next <= code.nine

/** `| 0x20` converts a letter to lower case. */
const isHexDigit = (next: number) =>
  isDigit(next) || ((next | 0x20) >= 0x61 && (next | 0x20) <= 0x66)

const colonEnd = (text: string, start: number): number => {
  const at = space(text, start)
  if (text.charCodeAt(at) !== code.colon) throw new NotJson()
  return at + 1
}

/** Returns the index after any white space. */
const space = (text: string, start: number): number => {
  let at = start
  for (;;) {
    const next = text.charCodeAt(at)
    if (next !== 0x20 && next !== 0x0a && next !== 0x0d && next !== 0x09) return at
    at++
  }
}

const code = {
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  E: 0x45,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  e: 0x65,
  openObject: 0x7b,
  closeObject: 0x7d,
}
