/** Types for pgpass, which has none: https://github.com/hoegaarden/pgpass */
declare module "pgpass" {
  /** Calls `callback` with the password from PGPASSFILE or ~/.pgpass, or with undefined. */
  export default function pgpass(
    login: {
      readonly host: string
      readonly port: number
      readonly database: string
      readonly user: string
    },
    callback: (password: string | undefined) => void,
  ): void
}
