import { availableParallelism } from "node:os"
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config"

const postgres = "test/support/PostgresServer.ts"
const builtPages = "test/support/BuiltPages.ts"
const builtProgram = "test/support/BuiltProgram.ts"
const builtPackage = "test/support/BuiltPackage.ts"
const chromium = "test/support/findChromium.ts"

/**
 * The stores, and the CLI verbs in the process of the test. `npm test` runs these files on SQLite,
 * with the projects `unit` and `http`. These three need nothing but Node.
 */
const stores = [
  "test/accounts/{Accounts,ApiKeys,AuditLog}.test.ts",
  "test/providers/{Costs,MetricsCache,Rankings}.test.ts",
  "test/{cli,ledger}/**/*.test.ts",
  "test/database/{Migrations,Transaction}.test.ts",
  "test/http/{Administration,Budget,Figures,Idempotency,Lists}.test.ts",
  "test/faults/{Sqlite,Tampering}.test.ts",
]

/** The service over HTTP, in the process of the test, and its pages. */
const http = [
  "test/{agents,client,http,lists,run,server}/**/*.test.ts",
  "test/providers/Composed.test.ts",
]

/** Of `stores`, the files whose suites run on PostgreSQL too. A new one is added here. */
const alsoPostgres = [
  "test/accounts/{Accounts,ApiKeys,AuditLog}.test.ts",
  "test/providers/{Costs,MetricsCache,Rankings}.test.ts",
  "test/ledger/{Audit,Budgets,CrashAndReplay,CreditLedger,IdempotencyKeys,LongReads}.test.ts",
  "test/cli/{Heads,Schema}.test.ts",
  "test/database/{Migrations,Transaction}.test.ts",
  "test/http/{Administration,Budget,Figures,Idempotency,Lists}.test.ts",
  "test/faults/Tampering.test.ts",
]

/** These files need PostgreSQL. */
const onlyPostgres = [
  "test/cli/Postgres.test.ts",
  "test/database/{PostgresErrors,PostgresTls}.test.ts",
  "test/faults/Processes.test.ts",
]

/** The program that ships, as processes. */
const program = ["test/program/**/*.test.ts"]

const browser = ["test/browser/**/*.test.ts"]

/** What ships, on each runtime and as the guides say: slow, and rarely changed. */
const release = ["test/release/**/*.test.ts"]

/** Databases that the last version wrote. */
const upgrade = ["test/upgrade/**/*.test.ts"]

/** Hundreds of seeds of the simulated service. They need a processor, but no server. */
const simulation = ["test/simulation/**/*.test.ts"]

/** Rare faults, most of which wait for real time. */
const faults = ["test/{faults,support}/**/*.test.ts"]

/** These tests need the program pgbouncer. */
const pgbouncer = ["test/pgbouncer/**/*.test.ts"]

/** These tests need the programs nginx and caddy. */
const proxy = ["test/proxy/**/*.test.ts"]

/** What runs on a distributed engine too. `node scripts/engines.ts` runs it through a proxy. */
const engines = [
  "test/accounts/{Accounts,ApiKeys,AuditLog}.test.ts",
  "test/providers/{Costs,MetricsCache,Rankings}.test.ts",
  "test/ledger/{Budgets,CrashAndReplay,CreditLedger,IdempotencyKeys}.test.ts",
  "test/database/{Migrations,Transaction}.test.ts",
  "test/faults/{Migrations,Network,Processes}.test.ts",
  "test/engines/**/*.test.ts",
]

/** These files share processes, so that each library is loaded once. */
const sharing = { pool: "forks", poolOptions: { forks: { isolate: false } } } as const

/** These files run in a thread of their own, beside the processes of the other projects. */
const beside = { pool: "threads", poolOptions: { threads: { singleThread: true } } } as const

type Test = NonNullable<TestProjectInlineConfiguration["test"]>

const project = (name: string, test: Test): TestProjectInlineConfiguration => ({
  extends: true,
  test: { ...test, name, exclude: [...configDefaults.exclude, ...(test.exclude ?? [])] },
})

export default defineConfig({
  test: {
    // Far above what a test takes, for a machine that is busy with others.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // By default Vitest leaves one processor idle.
    maxWorkers: availableParallelism(),
    minWorkers: 1,
    ...sharing,
    setupFiles: ["test/support/freshMethods.ts"],
    projects: [
      project("unit", {
        include: ["test/**/*.test.ts"],
        exclude: [
          ...stores,
          ...http,
          ...onlyPostgres,
          ...program,
          ...browser,
          ...simulation,
          ...release,
          ...upgrade,
          ...faults,
          ...pgbouncer,
          ...proxy,
          "test/engines/**/*.test.ts",
        ],
      }),
      project("stores", { include: stores, exclude: onlyPostgres }),
      project("http", { include: http, exclude: stores, globalSetup: [builtPages] }),
      project("postgres", { include: [...alsoPostgres, ...onlyPostgres], globalSetup: [postgres] }),
      project("program", {
        include: program,
        globalSetup: [postgres, builtPages, builtProgram],
      }),
      project("browser", {
        include: browser,
        globalSetup: [builtPages, chromium],
        ...beside,
      }),
      project("release", {
        include: release,
        globalSetup: [postgres, builtProgram, builtPackage, chromium],
        pool: "threads",
      }),
      project("upgrade", { include: upgrade, globalSetup: [postgres, builtProgram] }),
      project("simulation", { include: simulation, ...beside }),
      project("faults", {
        include: faults,
        exclude: [...stores, ...onlyPostgres],
        globalSetup: [postgres, builtProgram],
        pool: "threads",
      }),
      project("pgbouncer", {
        include: pgbouncer,
        globalSetup: [postgres, builtProgram],
        pool: "threads",
      }),
      project("engines", {
        include: engines,
        globalSetup: [postgres, builtProgram],
        pool: "threads",
      }),
      project("proxy", { include: proxy, globalSetup: [builtProgram], pool: "threads" }),
    ],
  },
})
