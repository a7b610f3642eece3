import { type ReadonlySignal, useSignal } from "@preact/signals"

interface Props {
  readonly name: string
  /** What the button concerns, for screen readers. */
  readonly of?: string
  readonly question?: string
  /** The name of the button that acts. */
  readonly act: string
  readonly isDisabled?: ReadonlySignal<boolean>
  readonly onAct: () => void
}

/** A button that asks before it acts. */
export const Ask = ({ act, isDisabled, name, of, onAct, question }: Props) => {
  const isAsking = useSignal<boolean | undefined>(undefined)
  const answer = () => {
    isAsking.value = false
    onAct()
  }
  return isAsking.value === true ? (
    <span class="ask" role="group" aria-label={question ?? act}>
      {question !== undefined && <span class="hint">{question}</span>}
      <button
        type="button"
        class="small quiet"
        ref={focus}
        onClick={() => (isAsking.value = false)}
      >
        Cancel
      </button>
      <button
        type="button"
        class="small danger"
        aria-disabled={isDisabled}
        // The second click of a double click on the first button answers nothing.
        onClick={({ detail }) => detail < 2 && isDisabled?.value !== true && answer()}
      >
        {act}
      </button>
    </span>
  ) : (
    <button
      type="button"
      class="small quiet"
      ref={isAsking.value === false ? focus : null}
      aria-disabled={isDisabled}
      onClick={() => (isAsking.value = isDisabled?.value !== true)}
    >
      {name}
      {of !== undefined && <span class="unseen"> {of}</span>}
    </button>
  )
}

/** Moves the focus to an element when it appears. */
export const focus = (element: HTMLElement | null) => element?.focus()
