import type { Plan } from "../run/Plan.ts"
import { counted } from "../text/counted.ts"
import { check, confirm, decline, limit, type Question } from "./ConsoleState.ts"
import type { ListRun } from "./ListRun.ts"
import { addresses, asked, atMost, number } from "./Texts.ts"

/** What the run has found out about its list, before it pays. */
export const Found = ({ run }: { readonly run: ListRun }) => {
  const { plan, planning } = run
  if (planning !== undefined) {
    return (
      <p class="hint">
        Free of charge: {number(planning.done)} of {addresses(planning.all)} looked at.
      </p>
    )
  }
  return plan === undefined ? null : (
    <details class="plan" open={run.status === "asking"}>
      <summary>
        Before this start: {atMost(plan.maxCredits)}
        {plan.availableCredits !== undefined &&
          `, and the account had ${number(plan.availableCredits)}`}
      </summary>
      <dl>
        {factsOf(plan).map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">
        The table shows which addresses are not valid, and why, and which are duplicates.
      </p>
    </details>
  )
}

const factsOf = (plan: Plan): ReadonlyArray<readonly [name: string, text: string]> => [
  ["Valid", number(plan.valid)],
  ["Not valid, free", number(plan.invalid)],
  ["Duplicates, paid once", number(plan.duplicates)],
  ...(plan.answered === 0 ? [] : [["Answered, paid", number(plan.answered)] as const]),
  ["Known to the service", number(plan.known)],
  ["To buy", number(plan.toBuy)],
  ...(plan.repeated === 0 ? [] : [["Sent, answer fetched again", number(plan.repeated)] as const]),
  ...(plan.repeatedOthers === 0
    ? []
    : [["Of these, not in the list", number(plan.repeatedOthers)] as const]),
  ["Price of each", plan.price === undefined ? "unknown" : counted(plan.price, "credit")],
  ["This start costs", atMost(plan.maxCredits)],
  ...(plan.availableCredits === undefined
    ? []
    : [["Balance", counted(plan.availableCredits, "credit")] as const]),
]

/** Asks the user before the run pays. */
export const Asking = (question: Question) => (
  <div class="notice" role="group" aria-label="Before anything is paid">
    <p role="alert">
      {question.plan.maxCredits === 0
        ? ""
        : `This start costs ${atMost(question.plan.maxCredits)}. `}
      {asked(question, limit.value)}
    </p>
    <div class="actions">
      <Answers {...question} />
      <button type="button" class="quiet" onClick={decline}>
        {question.plan.maxCredits === 0 ? "Close" : "Do not check"}
      </button>
    </div>
  </div>
)

const Answers = ({ plan, reasons, run }: Question) => {
  const { doubtful, known, maxCredits, repeated, toBuy } = plan
  const isIdle = known + toBuy + repeated === 0
  const also =
    maxCredits === undefined || doubtful.credits === undefined
      ? undefined
      : maxCredits + doubtful.credits
  return (
    <>
      {doubtful.targets > 0 && (
        <>
          <button type="button" onClick={() => void confirm("again")}>
            Check them again, {atMost(also)}
          </button>
          <button type="button" onClick={() => void confirm("leaveOut")}>
            Leave them out, {atMost(maxCredits)}
          </button>
        </>
      )}
      {doubtful.targets === 0 && !isIdle && (
        <button type="button" class="primary" onClick={() => void confirm()}>
          {reasons.includes("finished")
            ? `Check ${addresses(known + toBuy + repeated)}, ${atMost(maxCredits)}`
            : `Check, ${atMost(maxCredits)}`}
        </button>
      )}
      {reasons.includes("finished") && (
        <button
          type="button"
          onClick={() => void check({ ...run.list, name: run.name }, { isAnew: true })}
        >
          Check all again, {atMost(run.priceOfAll)}
        </button>
      )}
    </>
  )
}
