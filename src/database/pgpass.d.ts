/** pgpass has no types of its own: https://github.com/hoegaarden/pgpass */
declare module "pgpass" {
  /** Calls `callback` with the password of ~/.pgpass or PGPASSFILE, or with undefined. */
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
