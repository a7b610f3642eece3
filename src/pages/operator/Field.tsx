import type { Signal } from "@preact/signals"

interface Props {
  readonly name: string
  readonly value: Signal<string>
  readonly hint?: string
  readonly pattern?: string
  readonly isRequired?: boolean
  readonly isNumber?: boolean
  readonly min?: number
}

/** A labelled input whose text is kept in a signal. */
export const Field = ({ hint, isNumber, isRequired, min, name, pattern, value }: Props) => (
  <label>
    {name}
    <input
      {...(isNumber === true && ({ type: "number", step: 1 } as const))}
      {...(pattern !== undefined && { pattern })}
      {...(hint !== undefined && { placeholder: hint, title: `for example ${hint}` })}
      {...(min !== undefined && { min })}
      required={isRequired === true}
      value={value.value}
      onInput={(event) => (value.value = event.currentTarget.value)}
    />
  </label>
)
