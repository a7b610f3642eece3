import type { ComponentChildren } from "preact"

interface Props {
  readonly label: string
  readonly titles: ReadonlyArray<string>
  /** The titles of the columns with numbers. */
  readonly numbers?: ReadonlyArray<string>
  readonly children: ComponentChildren
}

/** A table that scrolls sideways on a narrow screen. */
export const Table = ({ children, label, numbers = [], titles }: Props) => (
  <div class="scroll" tabIndex={0} role="group" aria-label={label}>
    <table>
      <thead>
        <tr>
          {titles.map((title) => (
            <th key={title} scope="col" class={numbers.includes(title) ? "num" : ""}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)
