/**
 * A company's network: `vendor.test` and `service.test` can be reached only through its proxy, over
 * TLS, with a certificate that only the company's own authority has signed.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Duplex } from "node:stream"
import * as Tls from "node:tls"
import { listenOnFreePort } from "../../scripts/free-port.ts"

/** `url` is the address of the server without TLS that answers for both hosts. */
export const start = async (url: string) => {
  const { port } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), "authority-proxy-"))
  const authority = join(folder, "authority.pem")
  // The program may run as another user.
  chmodSync(folder, 0o755)
  writeFileSync(authority, certificate)
  const sockets = new Set<Duplex>()
  const join2 = (one: Duplex, other: Duplex) => {
    for (const socket of [one, other]) {
      sockets.add(socket)
      socket.on("error", () => [one, other].forEach((end) => end.destroy()))
    }
    one.pipe(other).pipe(one)
  }
  const tls = Tls.createServer({ cert: certificate, key }, (socket) =>
    join2(socket, Net.connect(Number(port), "127.0.0.1")),
  )
  const tlsPort = await listenOnFreePort(tls)
  const asked: Array<string> = []
  const proxy = Http.createServer().on("connect", (request, socket) => {
    asked.push(request.url ?? "")
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
    join2(socket, Net.connect(tlsPort, "127.0.0.1"))
  })
  return {
    /** The settings of a program in this network. */
    settings: {
      HTTPS_PROXY: `http://127.0.0.1:${await listenOnFreePort(proxy)}`,
      NODE_EXTRA_CA_CERTS: authority,
    },
    /** The hosts and ports that clients have asked the proxy for. */
    asked,
    stop: () => {
      for (const server of [tls, proxy]) server.close()
      for (const socket of sockets) socket.destroy()
      rmSync(folder, { recursive: true })
    },
  }
}

/** The certificate authority, and the certificate of both hosts; valid until 2126. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBxzCCAW2gAwIBAgIUKeOa15UbCUmwcEnXXbgNo69poaIwCgYIKoZIzj0EAwIw
JTEjMCEGA1UEAwwaYXV0aG9yaXR5IHRlc3RzIG9mIHByb3hpZXMwIBcNMjYxMTI0
MDgzNzA4WhgPMjEyNjEwMzEwODM3MDhaMCUxIzAhBgNVBAMMGmF1dGhvcml0eSB0
ZXN0cyBvZiBwcm94aWVzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE56mthiX9
7lfHK8nZyPcXyi13Lp/RN89lr8mcNUsDe7ZD7uvNZrPQUPoGuojOu4985mdrUZqd
1indh4rZTjHA16N5MHcwHQYDVR0OBBYEFNYAnkB2ll6roChPFb9GBofh0e3jMB8G
A1UdIwQYMBaAFNYAnkB2ll6roChPFb9GBofh0e3jMA8GA1UdEwEB/wQFMAMBAf8w
JAYDVR0RBB0wG4ILdmVuZG9yLnRlc3SCDHNlcnZpY2UudGVzdDAKBggqhkjOPQQD
AgNIADBFAiEAzJPXxITX+YeAnwYgLNKvwzbnaMO+nhE+WAcKC+jx2XACIFnOPuaS
iBtRs9FRF+uV0P1UH3VR+zWEbccbb5brFy8M
-----END CERTIFICATE-----
`

const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2GxNVtto3ctuyiZm
nwa90/vlkJ6QB+T6Ino0jsQyqVWhRANCAATnqa2GJf3uV8crydnI9xfKLXcun9E3
z2WvyZw1SwN7tkPu681ms9BQ+ga6iM67j3zmZ2tRmp3WKd2HitlOMcDX
-----END PRIVATE KEY-----
`
