import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:net"

/** Returns a port that is currently free. */
export const freePort = async () => {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  assert(typeof address === "object" && address !== null)
  probe.close()
  await once(probe, "close")
  return address.port
}
