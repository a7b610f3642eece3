/** The runs that the console of 1.1.0 kept in this browser. They can be exported, not continued. */
import { deleteDB, type IDBPDatabase, openDB } from "idb"
import * as v from "valibot"
import { Failure, Success } from "../../client/AnswerSchemas.ts"
import { invalid, type Outcome } from "../../client/Outcomes.ts"
import * as Export from "../console/Export.ts"
import * as Row from "../console/Row.ts"

const Summary = v.object({
  id: v.string(),
  name: v.optional(v.string(), ""),
  startedAt: v.number(),
  total: v.number(),
  checked: v.number(),
  failed: v.number(),
})

const List = v.object({
  items: v.array(v.object({ url: v.string(), others: v.array(v.string()) })),
  own: v.exactOptional(v.object({ column: v.number(), columns: v.array(v.string()) })),
})

const Entries = v.array(
  v.union([
    v.object({ url: v.string(), target: v.string() }),
    v.object({ url: v.string(), problem: v.string() }),
  ]),
)

const Batch = v.object({
  items: v.array(v.object({ url: v.string(), target: v.exactOptional(v.string()) })),
  answer: v.exactOptional(v.object({ outcomes: v.array(v.union([Success, Failure])) })),
})

export interface OldRun extends v.InferOutput<typeof Summary> {
  /** Rejects when the run is damaged. */
  readonly csv: () => Promise<string>
}

/** Returns the runs that can be read, the latest first. */
export const read = async (name: string): Promise<ReadonlyArray<OldRun>> => {
  try {
    // To open a database would make it.
    if ((await indexedDB.databases()).every((known) => known.name !== name)) return []
    return (await reading(name, (db) => db.getAll("runs")))
      .flatMap((value) => {
        const read = v.safeParse(Summary, value)
        return read.success ? { ...read.output, csv: () => csvOf(name, read.output.id) } : []
      })
      .sort((a, b) => b.startedAt - a.startedAt)
  } catch {
    return []
  }
}

/** An open database could not be deleted. */
const reading = async <A>(name: string, read: (db: IDBPDatabase) => Promise<A>): Promise<A> => {
  const db = await openDB(name)
  return read(db).finally(() => db.close())
}

const csvOf = async (name: string, id: string): Promise<string> => {
  // The keys of all parts of a run: an array is greater than any text.
  const parts = IDBKeyRange.bound([id], [id, []])
  const [list, journal, sent] = await reading(name, (db) =>
    Promise.all([db.get("lists", id), db.getAll("entries", parts), db.getAll("batches", parts)]),
  )
  const { items, own } = v.parse(List, list)
  const entries = v.parse(v.array(Entries), journal).flat()
  const batches = v.parse(v.array(Batch), sent)
  const outcomes = new Map<string, Outcome>()
  for (const { answer, items } of batches)
    for (const [i, outcome] of (answer?.outcomes ?? []).entries()) {
      const { target, url = "" } = items[i] ?? {}
      // A failed address may have been checked again.
      if (!("reason" in outcome) || !outcomes.has(target ?? url))
        outcomes.set(target ?? url, outcome)
    }
  const ofUrls = new Map(entries.map((entry) => [entry.url, entry]))
  const outcomeOf = (url: string) => {
    const entry = ofUrls.get(url)
    if (entry !== undefined && "problem" in entry) return invalid(url, entry.problem, true)
    const outcome = outcomes.get(entry?.target ?? url)
    return outcome && { ...outcome, url }
  }
  return Export.csv({
    rows: items.map((item, i) => Row.make(item, i + 1, outcomeOf(item.url))),
    own,
  })
}

export const remove = (name: string) => deleteDB(name)
