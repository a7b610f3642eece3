/** Formats the results as a Markdown table. */
import { type Measure, medians } from "./measure.ts"
import type { Group } from "./workloads.ts"

export interface Memory {
  /**
   * The resident memory of the server's process and its child processes together, in MB: the median
   * over at most the last 10 s of load.
   */
  readonly rssMb: number
  /**
   * The highest measured resident memory of the server's process and its child processes together,
   * in MB.
   */
  readonly peakMb: number
  /**
   * How many seconds the server was under load in total: warm-ups, rounds and the measurement of
   * memory.
   */
  readonly loadSeconds: number
}

export interface Result {
  readonly group: Group
  readonly row: string
  /** The rounds of the server in `bare.ts`. */
  readonly bare: ReadonlyArray<Measure>
  /** The service, and the server that it is compared with. */
  readonly contenders: ReadonlyArray<{
    readonly name: string
    readonly rounds: ReadonlyArray<Measure>
    readonly memory: Memory | undefined
  }>
}

interface About {
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly rounds: number
  /** The length of each round in seconds. */
  readonly seconds: number
}

const heads = [
  "requests",
  "beside",
  "ratio",
  "in each round",
  "of a bare server",
  "requests/s",
  "p50 and p99 ms",
  "the other's",
  "CPU µs",
  "the other's",
  "RSS MB",
  "the other's",
]

export const table = (
  { commit, date, machine, rounds, seconds }: About,
  results: ReadonlyArray<Result>,
): string => {
  const groups = [...new Set(results.map(({ group }) => group))]
  return [
    `The benchmark ran on ${date} at commit ${commit}, on ${machine}.`,
    `The figures are medians of ${rounds} rounds of ${seconds} s.`,
    "",
    line(heads),
    line(heads.map((_, i) => (i < 2 ? "---" : "---:"))),
    ...results.map((result) => line(cells(result))),
    "",
    ...groups.map(({ meaning, name }) => `- *${name}*: ${meaning}.`),
  ].join("\n")
}

const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`

const cells = ({ bare, contenders: [ours, other], row }: Result): ReadonlyArray<string> => {
  const [mine, its] = [medians(ours?.rounds ?? []), medians(other?.rounds ?? [])]
  const each = (ours?.rounds ?? []).map(
    ({ perSecond }, i) => perSecond / (other?.rounds[i]?.perSecond ?? Number.NaN),
  )
  return [
    row,
    other?.name ?? "",
    `${ratio(mine.perSecond / its.perSecond)}×`,
    `${ratio(Math.min(...each))}–${ratio(Math.max(...each))}`,
    ratio(mine.perSecond / medians(bare).perSecond),
    mine.perSecond.toFixed(0),
    latency(mine),
    latency(its),
    mine.cpuUs.toFixed(0),
    its.cpuUs.toFixed(0),
    megabytes(ours?.memory),
    megabytes(other?.memory),
  ]
}

const ratio = (value: number) => value.toFixed(value < 10 ? 2 : 1)

const latency = ({ p50Ms, p99Ms }: ReturnType<typeof medians>) =>
  `${p50Ms.toFixed(1)} and ${p99Ms.toFixed(1)}`

const megabytes = (memory: Memory | undefined) =>
  memory === undefined || Number.isNaN(memory.rssMb) ? "–" : memory.rssMb.toFixed(0)
