/**
 * Watches the calls of all replicas to the vendors. While the store and the processes work, a
 * replica must not buy figures for a request that another replica had bought and stored before that
 * request.
 */
import type { Call, Caller } from "./Call.ts"
import type { Faults } from "./Faults.ts"
import type { World } from "./World.ts"

interface Options {
  readonly world: World
  readonly faults: Faults
  /** For how many milliseconds after a purchase no replica may buy the same figures again. */
  readonly knownMs: number
  /** For how many milliseconds after trouble a replica may buy what another one has bought. */
  readonly excusedMs: number
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

/** How many milliseconds after a call its figures are stored. */
const storedMs = 600

/** The longest time from the beginning of a lookup until it reads the store, in milliseconds. */
const readMs = 100

export class Purchases {
  /** When figures were bought without trouble, by provider and page; times of `World.now`. */
  private readonly bought = new Map<string, { readonly at: number; readonly process: Caller }>()
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  /** Records that a call begins to buy a page, for lookups that began at the times `wantedAt`. */
  begins(call: Call, page: string, wantedAt: ReadonlyArray<number>): void {
    const { faults, knownMs, problem } = this.options
    const bought = this.bought.get(`${call.provider} ${page}`)
    if (bought === undefined || bought.process === call.process) return
    if (this.isTroubled || faults.troubleAt >= bought.at) return
    const isExcused = (at: number) => at < bought.at + storedMs || at > bought.at + knownMs - readMs
    if (wantedAt.length === 0 || wantedAt.some(isExcused)) return
    problem(
      `${call.process.name} buys ${call.provider} ${page}, which ${bought.process.name} has bought`,
    )
  }

  /** Records that the call has given figures for the page. */
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
