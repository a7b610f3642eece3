/** Small components that several pages use. */
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { number } from "./Texts.ts"

interface FieldProps {
  readonly name: string
  readonly value: Signal<string>
  readonly hint?: string
  readonly pattern?: string
  readonly isRequired?: boolean
  /** True if the field takes the focus when it appears. */
  readonly isFirst?: boolean
  /** The minimum, for a field with a whole number. */
  readonly min?: number
}

/** A labelled input whose text is kept in a signal. */
export const Field = ({ hint, isFirst, isRequired, min, name, pattern, value }: FieldProps) => (
  <label>
    {name}
    <input
      {...(min !== undefined && ({ type: "number", step: 1, min } as const))}
      {...(pattern !== undefined && { pattern })}
      {...(hint !== undefined && { placeholder: hint, title: `for example ${hint}` })}
      ref={isFirst === true ? focus : null}
      required={isRequired === true}
      value={value.value}
      onInput={(event) => (value.value = event.currentTarget.value)}
    />
  </label>
)

export const Waiting = () => (
  <p class="hint" role="status">
    One moment, please.
  </p>
)

/** Shows how much of a limit is used. */
export const Used = ({
  of,
  unit = "",
  used,
}: Readonly<{ used: number; of: number; unit?: string }>) => (
  <span class="used">
    <span class="bar" aria-hidden="true">
      <i
        class={used > of * 0.9 ? "loss" : ""}
        style={{ width: `${Math.min(1, used / of) * 100}%` }}
      />
    </span>
    {number(used)} of {number(of)} {unit}
  </span>
)

interface Fact {
  readonly name: string
  readonly value: string
  readonly hint?: ComponentChildren
}

export const Facts = ({ of }: { readonly of: ReadonlyArray<Fact> }) => (
  <dl class="tiles" aria-live="polite" aria-atomic="true">
    {of.map(({ hint, name, value }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
        {hint !== undefined && <dd class="hint">{hint}</dd>}
      </div>
    ))}
  </dl>
)

interface AskProps {
  readonly name: string
  /** What the button concerns, for screen readers. */
  readonly of?: string
  readonly question?: string
  /** The label of the button that acts. */
  readonly act: string
  readonly isDisabled?: ReadonlySignal<boolean>
  readonly onAct: () => void
}

/** A button that asks before it acts. */
export const Ask = ({ act, isDisabled, name, of, onAct, question }: AskProps) => {
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
        // Ignore the second click of a double click on the first button.
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

interface MenuProps {
  /** The content of the button. */
  readonly label: ComponentChildren
  readonly class?: string
  readonly children: ComponentChildren
}

/** A button that opens a card below it. Escape, an outside click or moving the focus closes it. */
export const Menu = ({ children, class: className, label }: MenuProps) => {
  const isOpen = useSignal(false)
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const leave = ({ target }: Event) => {
      // An element that this click has already removed was inside.
      if (target instanceof Node && target.isConnected && !place.current?.contains(target))
        isOpen.value = false
    }
    addEventListener("pointerdown", leave)
    addEventListener("focusin", leave)
    return () => {
      removeEventListener("pointerdown", leave)
      removeEventListener("focusin", leave)
    }
  }, [])
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen.value) return
    isOpen.value = false
    place.current?.querySelector("button")?.focus()
  }
  return (
    <div class="menu" ref={place} onKeyDown={close}>
      <button
        type="button"
        class={className}
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {label}
      </button>
      {isOpen.value && <div class="card">{children}</div>}
    </div>
  )
}

/** Makes the browser download a text. */
export const download = (
  text: string,
  type: "csv" | "json",
  {
    at,
    isSynthetic,
    name = "authority",
  }: { readonly at: Date; readonly isSynthetic: boolean; readonly name?: string },
) => {
  const mediaType = type === "csv" ? "text/csv" : "application/json"
  const url = URL.createObjectURL(new Blob([text], { type: `${mediaType};charset=utf-8` }))
  const link = document.createElement("a")
  link.href = url
  link.download = `${name}${isSynthetic ? "-synthetic" : ""}-${at.toISOString().slice(0, 10)}.${type}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
