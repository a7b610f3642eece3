import * as Plan from "../../lists/Plan.ts"
import { confirm, decline, limit, planning, question, type Reason, shown } from "./ConsoleState.ts"
import { addresses, asked, atMost, number } from "../Texts.ts"

/** Shows what the plan has found out about the list, before anything is sent. */
export const Found = () => {
  const plan = shown.value?.plan
  if (planning.value !== undefined) {
    return (
      <p class="hint">
        Free of charge: {number(planning.value.done)} of {addresses(planning.value.all)} looked at.
      </p>
    )
  }
  if (plan === undefined) return null
  return (
    <details class="plan" open={question.value !== undefined}>
      <summary>{Plan.sentence(plan, Date.now())}</summary>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">Addresses</th>
            <th scope="col" class="num">
              Number
            </th>
            <th scope="col" class="num">
              Credits
            </th>
          </tr>
        </thead>
        <tbody>
          {Plan.table(plan).map(({ addresses, credits, what }) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td class="num">{number(addresses)}</td>
              <td class="num">{credits === undefined ? "unknown" : number(credits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {Plan.others(plan).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p class="hint">
        The results show which addresses are not valid, and why, and which are duplicates.
      </p>
    </details>
  )
}

/** Asks the user before the run pays. */
export const Asking = ({
  plan,
  reasons,
}: {
  readonly plan: Plan.Plan
  readonly reasons: ReadonlyArray<Reason>
}) => (
  <div class="notice" role="group" aria-label="Before anything is paid">
    <p role="alert">
      {plan.maxCredits === 0 ? "" : `This start costs ${atMost(plan.maxCredits)}. `}
      {asked(plan, reasons, limit.value)}
    </p>
    <div class="actions">
      <Answers plan={plan} />
      <button type="button" class="quiet" onClick={decline}>
        {plan.maxCredits === 0 ? "Close" : "Do not check"}
      </button>
    </div>
  </div>
)

const Answers = ({ plan }: { readonly plan: Plan.Plan }) => {
  const { doubtful, known, maxCredits, repeated, toBuy } = plan
  if (doubtful.targets === 0) {
    return known + toBuy + repeated === 0 ? null : (
      <button type="button" class="primary" onClick={() => void confirm()}>
        Check, {atMost(maxCredits)}
      </button>
    )
  }
  const also =
    maxCredits === undefined || doubtful.credits === undefined
      ? undefined
      : maxCredits + doubtful.credits
  return (
    <>
      <button type="button" onClick={() => void confirm("again")}>
        Check them again, {atMost(also)}
      </button>
      <button type="button" onClick={() => void confirm("leaveOut")}>
        Leave them out, {atMost(maxCredits)}
      </button>
    </>
  )
}
