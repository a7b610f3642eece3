/**
 * Sends HTTPS requests through the proxy that HTTPS_PROXY names, except to the hosts in NO_PROXY.
 * Without this module, Node needs NODE_USE_ENV_PROXY=1.
 */
const { env } = process
const proxy = env["https_proxy"] ?? env["HTTPS_PROXY"] ?? ""

if (proxy !== "" && env["NODE_USE_ENV_PROXY"] === undefined) {
  const Http = process.getBuiltinModule("node:http")
  try {
    // The function is absent before Node 24.14, and in Deno, whose own client obeys the variables.
    if ("setGlobalProxyFromEnv" in Http) {
      // Node's fetch would read these variables, but `http:` addresses are reached directly.
      for (const name of ["http_proxy", "HTTP_PROXY"]) delete env[name]
      const direct = env["no_proxy"] ?? env["NO_PROXY"]
      Http.setGlobalProxyFromEnv({ https_proxy: proxy, no_proxy: direct })
    }
  } catch {
    process.stderr.write(
      "authority: HTTPS_PROXY: expected an address such as http://proxy.example.com:3128\n",
    )
    process.exit(1)
  }
}
