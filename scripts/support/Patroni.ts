/**
 * A PostgreSQL cluster with Patroni on this machine: three nodes, etcd, and HAProxy in front, each on
 * free ports. Its programs are those of Debian's packages patroni, etcd-server, haproxy and
 * postgresql-15. `patroni.yml` and `haproxy.cfg` beside this file configure them.
 */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as Schema from "effect/Schema"
import { freePort } from "../free-port.ts"
import * as Postgres from "./Postgres.ts"
import * as ServerProcess from "./ServerProcess.ts"

/** One node: a Patroni and its PostgreSQL. */
type Node = Awaited<ReturnType<typeof startNode>>

export type Cluster = Awaited<ReturnType<typeof start>>

interface Place {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly apiPort: number
}

const names = ["node1", "node2", "node3"]

/** How much of a node's log an error prints, in characters. */
const logLength = 8000

/** Longer than any step of the cluster takes on a busy machine, in milliseconds. */
const limitMs = 120_000

/** Starts a cluster. Resolves once `healthy` would. */
export const start = async () => {
  const folder = mkdtempSync(join(tmpdir(), "authority-patroni-"))
  chmodSync(folder, 0o755)
  const running: Array<{ readonly stop: () => Promise<void> }> = []
  const destroy = async () => {
    for (const { stop } of running.toReversed()) await stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const etcd = await startEtcd(folder)
    running.push(etcd)
    const places: Array<Place> = []
    for (const name of names) places.push(await placeOf(folder, name))
    const [haproxy, ...nodes] = await Promise.all([
      startHaproxy(folder, places),
      ...places.map((place) => startNode(place, etcd.url)),
    ])
    running.push(haproxy, ...nodes)
    const cluster = clusterOf(places, nodes)
    await cluster.healthy()
    return {
      ...cluster,
      /** The connection string of a superuser, through HAProxy, without a database name. */
      url: `postgres://postgres:superuser-password@127.0.0.1:${haproxy.port}`,
      freezeEtcd: () => etcd.signal("SIGSTOP"),
      thawEtcd: () => etcd.signal("SIGCONT"),
      destroy,
    }
  } catch (error) {
    await destroy()
    throw error
  }
}

const clusterOf = (places: ReadonlyArray<Place>, nodes: ReadonlyArray<Node>) => {
  const leader = (members: Members) =>
    nodes.find(({ name }) => members.some((one) => one.name === name && one.role === "leader"))
  return {
    /** Returns the node that Patroni calls the leader. Rejects when there is none. */
    primary: async () => {
      const found = leader(await membersOf(places))
      if (found === undefined) throw new Error("the cluster has no primary")
      return found
    },
    /** Resolves once all nodes run, one as the primary and one as its synchronous standby. */
    healthy: () =>
      until(places, isHealthy).catch((cause: unknown) => {
        const logs = nodes.map(({ log, name }) => `${name}:\n${log().slice(-logLength)}`)
        throw new Error(`the cluster does not recover:\n${logs.join("\n")}`, { cause })
      }),
    /** Resolves once another node than this one is the primary. */
    replaced: (primary: Node) =>
      until(places, (members) => (leader(members) ?? primary) !== primary),
    /** Whether the primary stays primary without etcd while it reaches Patroni on all others. */
    setFailsafe: async (failsafe: boolean) => {
      const [place] = places
      const url = `http://127.0.0.1:${place?.apiPort}/config`
      const body = JSON.stringify({ failsafe_mode: failsafe })
      const { status } = await fetch(url, { method: "PATCH", body })
      if (status !== 200) throw new Error(`Patroni answered ${status} to a change of its settings`)
    },
  }
}

const startEtcd = async (folder: string) => {
  const [client, peer] = [await freePort(), await freePort()]
  const [url, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`]
  const cwd = ownFolder(folder, "etcd")
  const server = await ServerProcess.start({
    command: [
      "etcd",
      "--name=etcd1",
      `--data-dir=${join(cwd, "data")}`,
      "--enable-v2",
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=etcd1=${peerUrl}`,
    ],
    readyText: "ready to serve client requests",
    stopSignal: "KILL",
    cwd,
    user: Postgres.serverUser(),
  })
  return { ...server, url: `127.0.0.1:${client}` }
}

const placeOf = async (folder: string, name: string): Promise<Place> => {
  const own = ownFolder(folder, name)
  const [port, apiPort] = [await freePort(), await freePort()]
  return { name, folder: own, port, apiPort }
}

const startNode = async (place: Place, etcd: string) => {
  const { apiPort, folder, name, port } = place
  const data = join(folder, "data")
  const configuration = fill(folder, "patroni.yml", {
    NAME: name,
    ETCD: etcd,
    API_PORT: apiPort,
    PORT: port,
    FOLDER: folder,
  })
  const run = () =>
    ServerProcess.start({
      command: ["patroni", configuration],
      readyText: "no action. I am (",
      stopSignal: "TERM",
      cwd: folder,
      user: Postgres.serverUser(),
    })
  let patroni = await run()
  let isFrozen = false
  const thaw = () => {
    isFrozen = false
    Postgres.signalAll(data, "SIGCONT")
    patroni.signal("SIGCONT")
  }
  return {
    name,
    /** Kills Patroni and all processes of PostgreSQL, as a crash of the machine does. */
    kill: async () => {
      patroni.signal("SIGKILL")
      Postgres.signalAll(data, "SIGSTOP")
      Postgres.signalAll(data, "SIGKILL")
      await patroni.stop()
    },
    /** Starts Patroni after `kill`. Patroni starts PostgreSQL. */
    start: async () => {
      patroni = await run()
    },
    /** Suspends Patroni and all processes of PostgreSQL, until `thaw`. */
    freeze: () => {
      isFrozen = true
      patroni.signal("SIGSTOP")
      Postgres.signalAll(data, "SIGSTOP")
    },
    thaw,
    log: () => patroni.log(),
    stop: async () => {
      if (isFrozen) thaw()
      await patroni.stop()
    },
  }
}

/** Writes a configuration into the folder, with these values in place of `$NAMES`. */
const fill = (folder: string, name: string, values: Readonly<Record<string, string | number>>) => {
  const text = readFileSync(join(import.meta.dirname, name), "utf8")
  const path = join(folder, name)
  writeFileSync(
    path,
    text.replace(/\$([A-Z_]+)/g, (_, key: string) => String(values[key])),
  )
  return path
}

/** Starts HAProxy. Resolves once it has found a primary. */
const startHaproxy = async (folder: string, places: ReadonlyArray<Place>) => {
  const port = await freePort()
  const cwd = ownFolder(folder, "haproxy")
  const servers = places.map(
    ({ apiPort, name, port: own }) => `  server ${name} 127.0.0.1:${own} check port ${apiPort}`,
  )
  const configuration = fill(cwd, "haproxy.cfg", { PORT: port, SERVERS: servers.join("\n") })
  const server = await ServerProcess.start({
    command: ["/usr/sbin/haproxy", "-db", "-f", configuration],
    readyText: "is UP",
    stopSignal: "TERM",
    cwd,
    user: Postgres.serverUser(),
  })
  return { ...server, port }
}

/** Makes a folder that the servers' user owns. */
const ownFolder = (folder: string, name: string) => {
  const path = join(folder, name)
  mkdirSync(path, { mode: 0o700 })
  const { gid, uid } = Postgres.serverUser()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
  return path
}

/** Waits until the members of the cluster fulfil the condition. */
const until = async (places: ReadonlyArray<Place>, condition: (members: Members) => boolean) => {
  const endsAt = performance.now() + limitMs
  for (;;) {
    const members = await membersOf(places)
    if (condition(members)) return
    if (performance.now() > endsAt) throw new Error(`the cluster stays ${JSON.stringify(members)}`)
    await sleep(250)
  }
}

/** Asks one node after the other for the members of the cluster. Returns none if no node answers. */
const membersOf = async (places: ReadonlyArray<Place>): Promise<Members> => {
  for (const { apiPort } of places) {
    try {
      const signal = AbortSignal.timeout(1000)
      const response = await fetch(`http://127.0.0.1:${apiPort}/cluster`, { signal })
      return decodeCluster(await response.text()).members
    } catch {
      // A node that was killed or suspended does not answer.
    }
  }
  return []
}

const Member = Schema.Struct({
  name: Schema.String,
  role: Schema.String,
  state: Schema.String,
  timeline: Schema.optional(Schema.Int),
  /** The bytes of the write-ahead log that a standby has not replayed. The primary has none. */
  lag: Schema.optional(Schema.Union(Schema.Int, Schema.Literal("unknown"))),
})
type Members = ReadonlyArray<typeof Member.Type>

/** All nodes run on one timeline, and the standbys have nearly all of the primary's log. */
const isHealthy = (members: Members) => {
  const running = members.filter(
    ({ lag = 0, state }) => state === "running" && typeof lag === "number" && lag < 2 ** 20,
  )
  const roles = running.map(({ role }) => role).toSorted()
  const timelines = new Set(running.map(({ timeline }) => timeline))
  return roles.join() === "leader,replica,sync_standby" && timelines.size === 1
}

const decodeCluster = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ members: Schema.Array(Member) })),
)
