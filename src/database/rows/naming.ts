import * as String from "effect/String"

/**
 * Column names are snake_case in the database (SQLite or PostgreSQL) and camelCase in the program.
 */
export const naming = {
  transformQueryNames: String.camelToSnake,
  transformResultNames: String.snakeToCamel,
}
