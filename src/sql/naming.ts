import * as String from "effect/String"

/** Columns are snake_case in the database and camelCase in the program, on both dialects. */
export const naming = {
  transformQueryNames: String.camelToSnake,
  transformResultNames: String.snakeToCamel,
}
