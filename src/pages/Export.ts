/** Formats results as CSV for spreadsheets. */
import Papa from "papaparse"
import type { Row } from "./Run.ts"

const columns = ["url", "domainAuthority", "pageAuthority", "spamScore", "reason"]

/**
 * CSV as in RFC 4180, with a byte order mark so that spreadsheets detect UTF-8. A cell that looks
 * like a formula gets a leading apostrophe, because addresses are untrusted input.
 */
export const csv = (rows: Iterable<Row>): string =>
  `\uFEFF${Papa.unparse(
    {
      fields: columns,
      data: Array.from(rows, ({ figures, reason, url }) => [
        url,
        figures?.domainAuthority,
        figures?.pageAuthority,
        figures?.spamScore,
        reason,
      ]),
    },
    { escapeFormulae: true, newline: "\r\n" },
  )}\r\n`
