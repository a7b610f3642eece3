/**
 * The tricks: optimisations of speed, memory or start time. Defines how the ablation benchmark
 * builds the program without each trick.
 */
import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Plugin } from "esbuild"
import type { Step } from "../build-binary.ts"
import { root } from "../bundle.ts"

/**
 * The workloads of the ablation benchmark. Each value is the name of the main benchmark's row that
 * has this workload.
 */
export const workloads = {
  named1: "known, named, 1 URL",
  named50: "known, named, 50 URLs",
  expressOff: "known, express off, unnamed, 1 URL",
  sandbox50: "sandbox, named, 50 URLs",
  bought50: "bought, named, 50 URLs",
  balance: "known, balance",
} as const

export interface Trick {
  readonly name: string
  /** The workloads that the optimisation speeds up; empty when it only affects the start time. */
  readonly workloads: ReadonlyArray<keyof typeof workloads>
  /**
   * The build step that contains the optimisation. A build without the optimisation omits this
   * step.
   */
  readonly step?: Step
  /**
   * The modules that contain the optimisation. In a build without it, the bundler replaces each
   * module with a file in `replacements/` that does the same in plain code.
   */
  readonly twins?: ReadonlyArray<Twin>
  /**
   * The part of a module that contains the optimisation, and the plain code that replaces this
   * part.
   */
  readonly edit?: { readonly module: string; readonly piece: RegExp; readonly plain: string }
  /** Environment variables of the service that turn the optimisation off. */
  readonly settings?: NodeJS.ProcessEnv
}

interface Twin {
  /** Matches the import path of the module that contains the optimisation. */
  readonly module: RegExp
  /**
   * The name of a file in `replacements/`. In a build without the optimisation, this file replaces
   * the module that contains the optimisation. The file and the module have the same exports.
   */
  readonly file: string
  /**
   * The path of the only module that imports `file` in place of the replaced module. Default: every
   * module in `src/` does.
   */
  readonly importer?: string
}

export const tricks: ReadonlyArray<Trick> = [
  {
    name: "express",
    workloads: ["named1", "named50", "sandbox50"],
    settings: { AUTHORITY_EXPRESS: "off" },
  },
  {
    name: "TypeGuard",
    workloads: ["named1", "named50", "expressOff", "bought50"],
    twins: [{ module: /\/TypeGuard\.ts$/, file: "TypeGuard.ts" }],
  },
  {
    name: "kept pieces of answers",
    workloads: ["named50", "sandbox50"],
    twins: [{ module: /\/Lru\.ts$/, file: "Lru.ts", importer: "src/http/BatchAnswer.ts" }],
  },
  {
    name: "kept targets",
    workloads: ["named1", "named50", "sandbox50"],
    edit: {
      module: "src/Target.ts",
      piece: /if \(known !== undefined\) return known/,
      plain: "",
    },
  },
  {
    name: "pooled ids",
    workloads: ["named1", "expressOff"],
    edit: { module: "src/text/uniqueId.ts", piece: /uuid\(fromPool\)/, plain: "uuid()" },
  },
  {
    name: "rows as cells",
    workloads: ["named1", "named50", "bought50"],
    twins: [{ module: /\/bulkRows\.ts$/, file: "bulkRows.ts" }],
  },
  {
    name: "shared reads of balances",
    workloads: ["balance"],
    edit: {
      module: "src/sql/BalanceReader.ts",
      piece: /let balance = Balance\.empty\s+const answer[^]*?mayCharge: false[^]*?\n {8}\)/,
      plain: `return Effect.map(
        Failure.orDie(queries.balances([accountId])),
        ([balance = Balance.empty]) => balance,
      )`,
    },
  },
  {
    name: "young functions",
    workloads: ["named50", "expressOff", "bought50"],
    step: "young functions",
  },
  { name: "code cache", workloads: [], step: "code cache" },
]

/**
 * Makes the esbuild plugins that remove one optimisation from the program: they replace its code
 * with plain code that does the same.
 */
export const pluginsOf = ({ edit, name, twins = [] }: Trick): ReadonlyArray<Plugin> => [
  ...twins.map(({ file, importer, module }): Plugin => ({
    name: `${name}: ${file}`,
    setup: ({ onResolve }) =>
      onResolve({ filter: module }, (found) => {
        // Replace only imports that a module in `src/` makes, because the files in `replacements/` may
        // import the module that they replace.
        const isOurs = found.importer.startsWith(join(root, importer ?? "src/"))
        return isOurs ? { path: join(import.meta.dirname, "replacements", file) } : undefined
      }),
  })),
  ...(edit === undefined
    ? []
    : [
        {
          name,
          setup: ({ onLoad }) =>
            onLoad({ filter: new RegExp(`/${edit.module}$`) }, async ({ path }) => {
              const source = await readFile(path, "utf8")
              assert.match(source, edit.piece, `${edit.module} has changed`)
              return { contents: source.replace(edit.piece, edit.plain), loader: "ts" }
            }),
        } satisfies Plugin,
      ]),
]
