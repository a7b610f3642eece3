/** Small components that several of the operator's pages use. */
import type { ComponentChildren } from "preact"
import { num, text } from "../Table.tsx"
import { customerPage, isBusy, reads, refresh } from "./OperatorState.ts"

interface PageProps {
  readonly title: ComponentChildren
  readonly acts?: ComponentChildren
  readonly children: ComponentChildren
}

/** A page: its title, what can be done on it, and its sections. */
export const Page = ({ acts, children, title }: PageProps) => (
  <>
    <div class="line title">
      <h1 id="page-title" tabIndex={-1}>
        {title}
      </h1>
      {acts}
      <button type="button" class="quiet" aria-disabled={reads.value > 0} onClick={refresh}>
        Refresh
      </button>
    </div>
    {children}
  </>
)

export const customerColumn = <Row,>(
  name: (row: Row) => string,
  isSuspended: (row: Row) => boolean = () => false,
) =>
  text("Customer", name, (row: Row) => (
    <>
      <a href={customerPage(name(row))}>{name(row)}</a>
      {isSuspended(row) && <span class="chip bad">suspended</span>}
    </>
  ))

/** Formats amounts of a currency, and an unknown amount as a dash. */
export const moneyIn = (currency: string) => {
  const full = new Intl.NumberFormat("en", { style: "currency", currency })
  const short = new Intl.NumberFormat("en", { style: "currency", currency, notation: "compact" })
  return {
    name: currency,
    full: (n: number | null) => (n === null ? "–" : full.format(n)),
    short: (n: number) => short.format(n),
  }
}
export type Money = ReturnType<typeof moneyIn>

/** Shows older rows, while there are any. */
export const More = ({ act }: { readonly act: (() => Promise<unknown>) | undefined }) =>
  act && (
    <button type="button" class="quiet" aria-disabled={isBusy} onClick={() => void act()}>
      Older
    </button>
  )

export const amount = <Row,>(money: Money, title: string, value: (row: Row) => number | null) =>
  num(`${title}, ${money.name}`, value, (row: Row) => money.full(value(row)))
