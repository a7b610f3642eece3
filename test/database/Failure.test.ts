import { assert, it } from "@effect/vitest"
import { SqlError } from "@effect/sql/SqlError"
import * as Failure from "../../src/database/Failure.ts"

const withCode = (code: string) =>
  new SqlError({ cause: Object.assign(new Error("it failed"), { code }) })

// Error codes of SQLSTATE class 08, of servers that stop, crash or start, and of the network.
const codes =
  "08000 08001 08003 08004 08006 08007 08P01 57P01 57P02 57P03 57P04 57P05 25P03 25P04 " +
  "ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN"

it.each(codes.split(" "))("the error code %s counts as a lost connection", (code) => {
  assert.isTrue(Failure.isDisconnection(withCode(code)))
  assert.match(Failure.describe(withCode(code)).message, /^the database cannot be reached/)
})

it.each([
  ["40001", "restart transaction: TransactionRetryWithProtoRefreshError"],
  ["40P01", "deadlock detected"],
  ["XX000", "Restart read required at: { read: 1 }"],
])("the error %s, %s, counts as a conflict and not as a lost connection", (code, message) => {
  const error = new SqlError({ cause: Object.assign(new Error(message), { code }) })
  assert.isTrue(Failure.isConflict(error))
  assert.isFalse(Failure.isDisconnection(error))
})

it("a commit whose result the engine does not know counts as a lost connection", () => {
  assert.isTrue(Failure.isDisconnection(withCode("40003")))
  assert.isFalse(Failure.isConflict(withCode("40003")))
})

it("a server without a free connection counts as a lost connection, and its error names the limits", () => {
  assert.isTrue(Failure.isDisconnection(withCode("53300")))
  assert.match(Failure.describe(withCode("53300")).message, /^the server has no free connection/)
})

it.each(["23505", "42501", "57014", "SQLITE_BUSY", "SQLITE_FULL"])(
  "the error code %s does not count as a lost connection",
  (code) => {
    assert.isFalse(Failure.isDisconnection(withCode(code)))
  },
)

it("PgBouncer's error about transactions in statement pooling mode does not count as a lost connection, although its error code 08P01 usually means one", () => {
  const message = "transaction blocks not allowed in statement pooling mode"
  const error = new SqlError({ cause: Object.assign(new Error(message), { code: "08P01" }) })
  assert.isFalse(Failure.isDisconnection(error))
  assert.match(
    Failure.describe(error).message,
    /^PgBouncer's pool_mode=statement .*; set pool_mode to/,
  )
})

it("the error of an expired certificate says which parameters to check", () => {
  assert.match(
    Failure.describe(withCode("CERT_HAS_EXPIRED")).message,
    /^TLS with the server failed; check the host, sslmode, sslrootcert, sslcert and sslkey in /,
  )
})
