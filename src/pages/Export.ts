/** Results as a file for spreadsheets. */
import Papa from "papaparse"
import type { Row } from "./Run.ts"

const columns = ["url", "domainAuthority", "pageAuthority", "spamScore", "reason"]

/**
 * CSV by RFC 4180, with the mark by which spreadsheets know UTF-8. A cell that one of them would
 * compute gets an apostrophe in front: addresses come from anywhere.
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
