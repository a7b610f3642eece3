/**
 * A PostgreSQL cluster with Patroni on this machine: three nodes, etcd, and HAProxy in front, each on
 * free ports. Its programs are those of Debian's packages patroni, etcd-server, haproxy and
 * postgresql-15. The guide's page about PostgreSQL shows what matters of the configuration.
 */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as Schema from "effect/Schema"
import { freePort } from "../free-port.ts"
import * as Postgres from "./Postgres.ts"
import * as ServerProcess from "./ServerProcess.ts"

/** One node: a Patroni and its PostgreSQL. */
interface Node {
  readonly name: string
  /** Kills Patroni and all processes of PostgreSQL, as a crash of the machine does. */
  readonly kill: () => Promise<void>
  /** Starts Patroni after `kill`. Patroni starts PostgreSQL. */
  readonly start: () => Promise<void>
  /** Suspends Patroni and all processes of PostgreSQL. */
  readonly freeze: () => void
  /** Resumes the processes that `freeze` has suspended. */
  readonly thaw: () => void
  /** Returns the log of Patroni and PostgreSQL since the last start. */
  readonly log: () => string
}

export interface Cluster {
  /** The connection string of a superuser, through HAProxy, without a database name. */
  readonly url: string
  /** Returns the node that Patroni calls the leader. Rejects when there is none. */
  readonly primary: () => Promise<Node>
  /** Resolves once all nodes run, one as the primary and one as its synchronous standby. */
  readonly healthy: () => Promise<void>
  /** Resolves once another node than this one is the primary. */
  readonly replaced: (primary: Node) => Promise<void>
  /** Suspends etcd. */
  readonly freezeEtcd: () => void
  /** Resumes etcd. */
  readonly thawEtcd: () => void
  /** Whether the primary stays primary without etcd while it reaches Patroni on all other nodes. */
  readonly setFailsafe: (failsafe: boolean) => Promise<void>
  /** Stops all processes of the cluster and deletes its data. */
  readonly destroy: () => Promise<void>
}

interface Place {
  readonly name: string
  readonly folder: string
  readonly data: string
  readonly port: number
  readonly apiPort: number
}

const names = ["node1", "node2", "node3"]
const programs = "/usr/lib/postgresql/15/bin"

/** How much of a node's log an error prints, in characters. */
const logLength = 8000

/** Longer than any step of the cluster takes on a busy machine, in milliseconds. */
const limitMs = 120_000

/** Starts a cluster. Resolves once `healthy` would. */
export const start = async (): Promise<Cluster> => {
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
    primary: async () => {
      const found = leader(await membersOf(places))
      if (found === undefined) throw new Error("the cluster has no primary")
      return found
    },
    healthy: () =>
      until(places, isHealthy).catch((cause: unknown) => {
        const logs = nodes.map(({ log, name }) => `${name}:\n${log().slice(-logLength)}`)
        throw new Error(`the cluster does not recover:\n${logs.join("\n")}`, { cause })
      }),
    replaced: (primary: Node) =>
      until(places, (members) => (leader(members) ?? primary) !== primary),
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
  return { name, folder: own, data: join(own, "data"), port, apiPort }
}

const startNode = async (place: Place, etcd: string) => {
  const { data, folder, name } = place
  const configuration = join(folder, "patroni.yml")
  // JSON is YAML too.
  writeFileSync(configuration, JSON.stringify(configurationOf(place, etcd), null, 2))
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
    kill: async () => {
      patroni.signal("SIGKILL")
      Postgres.signalAll(data, "SIGSTOP")
      Postgres.signalAll(data, "SIGKILL")
      await patroni.stop()
    },
    start: async () => {
      patroni = await run()
    },
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

const configurationOf = ({ apiPort, data, folder, name, port }: Place, etcd: string) => ({
  scope: "authority",
  name,
  // Not etcd3: before Patroni 3.0.3, a primary that comes back would take the lock of the new one.
  etcd: { host: etcd },
  restapi: { listen: `127.0.0.1:${apiPort}`, connect_address: `127.0.0.1:${apiPort}` },
  bootstrap: {
    dcs: {
      ttl: 20,
      loop_wait: 5,
      retry_timeout: 5,
      synchronous_mode: true,
      postgresql: {
        use_pg_rewind: true,
        use_slots: true,
        parameters: { max_connections: 100, wal_log_hints: "on" },
      },
    },
    initdb: [{ encoding: "UTF8" }, { locale: "C" }, "data-checksums"],
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: data,
    bin_dir: programs,
    pgpass: join(folder, "pgpass"),
    authentication: {
      superuser: { username: "postgres", password: "superuser-password" },
      replication: { username: "replicator", password: "replicator-password" },
      rewind: { username: "rewinder", password: "rewinder-password" },
    },
    parameters: { unix_socket_directories: "" },
    pg_hba: [
      "host all all 127.0.0.1/32 scram-sha-256",
      "host replication replicator 127.0.0.1/32 scram-sha-256",
    ],
  },
})

/** Starts HAProxy. Resolves once it has found a primary. */
const startHaproxy = async (folder: string, places: ReadonlyArray<Place>) => {
  const port = await freePort()
  const cwd = ownFolder(folder, "haproxy")
  const configuration = join(cwd, "haproxy.cfg")
  const servers = places.map(
    ({ apiPort, name, port: own }) => `  server ${name} 127.0.0.1:${own} check port ${apiPort}`,
  )
  writeFileSync(
    configuration,
    `defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 2s
listen authority
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
  )
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
