import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type Server } from "node:net"

/** Lets a server listen on a free port of this machine, and returns the port. */
export const listenOnFreePort = async (server: Server) => {
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  assert(typeof address === "object" && address !== null)
  return address.port
}

export const freePort = async () => {
  const probe = createServer()
  const port = await listenOnFreePort(probe)
  probe.close()
  await once(probe, "close")
  return port
}
