import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"

interface Props {
  /** The content of the button. */
  readonly label: ComponentChildren
  readonly class?: string
  readonly title?: string
  readonly children: ComponentChildren
}

/** A button that opens a card below it. Escape and a click or the focus elsewhere close the card. */
export const Menu = ({ children, class: className = "", label, title }: Props) => {
  const isOpen = useSignal(false)
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const leave = ({ target }: Event) => {
      // What a press has removed meanwhile was inside.
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
        title={title}
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {label}
      </button>
      {isOpen.value && <div class="card">{children}</div>}
    </div>
  )
}
