/** Small parts of the pages of customers and operators. */
import type { Signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { focus } from "./console/Ask.tsx"
import { number } from "./Texts.ts"

interface FieldProps {
  readonly name: string
  readonly value: Signal<string>
  readonly hint?: string
  readonly pattern?: string
  readonly isRequired?: boolean
  /** True when the field takes the focus as it appears. */
  readonly isFirst?: boolean
  /** The least number of a field with a whole number. */
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

/** How much of a limit is used. */
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
