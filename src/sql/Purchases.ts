/**
 * The purchases in SQL. Each process opens and closes its calls in shared commits. A commit locks
 * the rows of its vendors first, so the sums of a month stand still while a ceiling is checked.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { uniqueId } from "../text/uniqueId.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import {
  type CeilingReached,
  type Cost,
  longestPauseMs,
  opening,
  openTimeoutMs,
  type Purchase,
  purchaseOf,
  type PurchaseRequest,
  Purchases,
  type VendorPaused,
} from "../Purchases.ts"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import type * as GroupCommit from "./GroupCommit.ts"
import { sweep } from "./paging.ts"
import { makeQueries, type Queries } from "./purchaseQueries.ts"
import { makeRetryAfterDisconnection } from "./retry.ts"
import * as SharedCommits from "./SharedCommits.ts"
import { makeReadings } from "./vendorReadings.ts"

interface Opening {
  readonly kind: "open"
  readonly id: string
  readonly request: PurchaseRequest
  /** True when nobody waits any more, so that nothing will be sent. */
  isAbandoned: boolean
  answer: Either.Either<Purchase, CeilingReached | VendorPaused> | undefined
}

type Command =
  | Opening
  | { readonly kind: "close"; readonly purchase: Purchase; readonly cost: Cost }
  | { readonly kind: "pause"; readonly provider: string; readonly until: number }

export const layer: Layer.Layer<Purchases, never, SqlClient.SqlClient> = Layer.scoped(
  Purchases,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const queries = makeQueries(sql)
    const retried = yield* makeRetryAfterDisconnection
    const queue = yield* SharedCommits.queueOf(sql, committing(queries))
    const later = yield* makeLater(queue)

    return Purchases.of({
      open: (request) =>
        Effect.flatMap(MonotonicClock.now, (now) => {
          const command = commandOf(request)
          const abandon = () => {
            command.isAbandoned = true
            later.add(unsent(command))
          }
          return Effect.async<Purchase, CeilingReached | VendorPaused>((resume) => {
            // The closes of earlier calls share the commit, and make room under a ceiling.
            later.flush()
            queue.submit(
              command,
              (exit) => {
                if (Exit.isFailure(exit)) abandon()
                resume(answerOf(command, exit))
              },
              now + openTimeoutMs,
            )
            return Effect.sync(abandon)
          })
        }),
      close: (purchase, cost) => Effect.sync(() => later.add({ kind: "close", purchase, cost })),
      pause: (provider, until) => Effect.sync(() => later.add({ kind: "pause", provider, until })),
      days: (range) => queries.days(range).pipe(retried, Failure.orDie),
      ...makeReadings(sql, retried),
      sweep: (until) => sweep(sql, queries.deleteSome(until)),
    })
  }),
)

const commandOf = (request: PurchaseRequest): Opening => ({
  kind: "open",
  id: uniqueId(),
  request,
  isAbandoned: false,
  answer: undefined,
})

const answerOf = ({ answer }: Opening, exit: Exit.Exit<void, GroupCommit.GivenUp>) =>
  Exit.match(exit, {
    onSuccess: () => answer ?? Effect.dieMessage("the commit left out this purchase"),
    onFailure: (cause) => Effect.failCause(Cause.flatMap(cause, () => Cause.die(tooSlow))),
  })

const tooSlow = new StoreFailure({ message: "the database did not answer in time" })

/** Closes a call that was not sent, in case its row was committed nevertheless. */
const unsent = ({ id, request }: Opening): Command => ({
  kind: "close",
  purchase: { ...request, id, at: 0, rowsLeft: undefined },
  cost: { state: "failed", rows: 0, cost: null, isReported: false },
})

/**
 * Collects commands that no caller waits for, so that they share a commit. A command whose commit
 * fails is committed again later, because a call must not stay unknown when its cost is known.
 */
const makeLater = Effect.fnUntraced(function* ({ submit }: GroupCommit.Queue<Command>) {
  let waiting: Array<Command> = []
  let delay = closeDelay
  const hasWaiting = yield* Effect.makeLatch(false)
  const add = (command: Command) => {
    if (waiting.length >= maxWaiting) return
    waiting.push(command)
    hasWaiting.unsafeOpen()
  }
  const flush = () => {
    hasWaiting.unsafeClose()
    const commands = waiting
    waiting = []
    for (const command of commands) {
      submit(command, (exit) => {
        delay = Exit.isSuccess(exit) ? closeDelay : retryDelay
        if (Exit.isFailure(exit)) add(command)
      })
    }
  }
  yield* Effect.addFinalizer(() => Effect.sync(flush))
  yield* hasWaiting.await.pipe(
    Effect.zipRight(Effect.suspend(() => Effect.delay(Effect.sync(flush), delay))),
    Effect.forever,
    Effect.forkScoped,
  )
  return { add, flush }
})

/** How long a close waits for other commands. */
const closeDelay = Duration.millis(20)

/** How long a command waits when the last commit failed. */
const retryDelay = Duration.seconds(1)

/** The most commands that wait. Further ones are dropped, and their calls stay unknown. */
const maxWaiting = 10_000

/** `opened`: a call that the former attempt of a commit opened. */
interface Former {
  opened: string | undefined
}

/** Returns a function that makes a part of a commit from commands. */
const committing = (queries: Queries) => {
  const attempt = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>, former: Former) {
    const pausedUntil = yield* queries.lockVendors(commands.map(providerOf))
    // This attempt got the locks of the former one, so that one has ended: committed or not.
    if (former.opened !== undefined && (yield* queries.exists(former.opened))) return
    const now = yield* Clock.currentTimeMillis
    const of = <Kind extends Command["kind"]>(kind: Kind) =>
      commands.filter((each): each is Extract<Command, { kind: Kind }> => each.kind === kind)

    for (const { provider, until } of of("pause")) {
      const former = pausedUntil.get(provider) ?? 0
      if (until <= former && former <= now + longestPauseMs) continue
      yield* queries.pause(provider, until)
      pausedUntil.set(provider, until)
    }
    const closed = yield* queries.close(of("close"))
    const openings = of("open").filter(({ isAbandoned }) => !isAbandoned)
    const bounded = openings.flatMap(({ request }) =>
      request.ceiling === undefined ? [] : [request.provider],
    )
    // Without a ceiling nothing reads the days, so that one statement can write all changes.
    const hasCeiling = bounded.length > 0
    if (hasCeiling) yield* queries.addToDays(closed)
    const months = yield* queries.months(bounded, now)
    const opened = openings.flatMap((command) => {
      const { provider } = command.request
      const month = months.get(provider) ?? { rows: 0, unknownTargets: 0 }
      const state = { month, pausedUntil: pausedUntil.get(provider) ?? 0 }
      command.answer = purchaseOf(command.request, state, command.id, now)
      if (Either.isLeft(command.answer)) return []
      const unknownTargets = month.unknownTargets + command.answer.right.targets
      months.set(provider, { ...month, unknownTargets })
      return [command.answer.right]
    })
    yield* queries.open(opened)
    yield* queries.addToDays([...(hasCeiling ? [] : closed), ...opened.map(opening)])
    former.opened = opened[0]?.id
  })

  return (commands: ReadonlyArray<Command>): SharedCommits.Part => ({
    statements: attempt(commands, { opened: undefined }),
  })
}

const providerOf = (command: Command) => {
  if (command.kind === "pause") return command.provider
  return command.kind === "open" ? command.request.provider : command.purchase.provider
}
