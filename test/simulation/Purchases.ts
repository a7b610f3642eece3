/**
 * Watches the calls of all replicas to the vendors. While the store and the processes work, a
 * replica must not buy what another one is buying, or what another one has bought.
 */
import type { Call, Caller } from "./Call.ts"
import type { Faults } from "./Faults.ts"
import type { World } from "./World.ts"

interface Options {
  readonly world: World
  readonly faults: Faults
  /** How long no replica must buy figures anew, in milliseconds. */
  readonly knownMs: number
  /** How long after trouble a replica may buy what another one buys, in milliseconds. */
  readonly excusedMs: number
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

export class Purchases {
  /** All calls of all processes. */
  readonly calls: Array<Call> = []
  /** When figures were bought without trouble, by provider and page; times of `World.now`. */
  private readonly bought = new Map<string, { readonly at: number; readonly process: Caller }>()
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  begins(call: Call): void {
    const { knownMs, problem, world } = this.options
    for (const page of this.isTroubled ? [] : call.pages.keys()) {
      const others = this.calls.filter(
        ({ endedAt, pages, process, provider }) =>
          provider === call.provider &&
          process !== call.process &&
          process.isRunning &&
          endedAt > world.now &&
          pages.has(page),
      )
      for (const { process } of others) {
        problem(
          `${call.process.name} buys ${call.provider} ${page}, which ${process.name} is buying`,
        )
      }
      const bought = this.bought.get(`${call.provider} ${page}`)
      if (bought === undefined || bought.process === call.process) continue
      if (world.now < bought.at + knownMs && this.options.faults.troubleAt < bought.at) {
        const { name } = bought.process
        problem(`${call.process.name} buys ${call.provider} ${page}, which ${name} has bought`)
      }
    }
    this.calls.push(call)
  }

  /** The call has given figures for the page. */
  gives(call: Call, page: string): void {
    const { world } = this.options
    const id = `${call.provider} ${page}`
    if (this.isTroubled) this.bought.delete(id)
    else this.bought.set(id, { at: world.now, process: call.process })
  }

  private get isTroubled(): boolean {
    const { excusedMs, faults, world } = this.options
    return faults.troubleAt >= world.now - excusedMs
  }
}
