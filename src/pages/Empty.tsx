import { isListEmpty, useSample } from "./ListPanel.tsx"

/** Explains, before the first run, what the figures mean and how to start. */
export const Empty = () => (
  <section class="card empty" aria-labelledby="empty-title">
    <div class="lead">
      <h2 id="empty-title">See how strong every site on your list is</h2>
      <p>
        Paste a list of any length, or drop a spreadsheet saved as CSV. Each address gets three
        figures. You can sort, filter, copy and export them, together with your own columns.
      </p>
      {isListEmpty.value && (
        <button type="button" onClick={useSample}>
          Try the sample list
        </button>
      )}
      <p class="hint">
        Only successful checks are charged. The answers stay in this browser: an address that has
        one of the last 30 days costs nothing, in any list. Before anything could be paid twice, the
        console asks.
      </p>
    </div>
    <h3>What the figures mean</h3>
    <dl class="meanings">
      <Meaning name="Domain authority" kind="domainAuthority" example={62}>
        0 to 100, for the whole site. It rises with the number and strength of the sites that link
        to it. Going from 70 to 80 is much harder than going from 20 to 30.
      </Meaning>
      <Meaning name="Page authority" kind="pageAuthority" example={41}>
        0 to 100, for this one page. No value is good or bad by itself: compare your page with the
        pages of your competitors.
      </Meaning>
      <Meaning name="Spam score" kind="low" example={4}>
        0 to 100, low is good. Search engines penalise this percentage of the sites with the same
        features. Look closely at a site above 30 before you ask it for a link.
      </Meaning>
    </dl>
    <h3>With the keyboard</h3>
    <dl class="keys">
      <Keys keys={["Ctrl", "Enter"]}>in the list field starts the check (⌘ Enter on a Mac)</Keys>
      <Keys keys={["Tab"]}>goes to the next field, column header or bar of a chart</Keys>
      <Keys keys={["Enter"]}>on a column header sorts the table or reverses its order</Keys>
      <Keys keys={["Space"]}>on a bar shows only the addresses in its range</Keys>
    </dl>
  </section>
)

const Meaning = ({
  children,
  example,
  kind,
  name,
}: {
  readonly name: string
  readonly kind: string
  readonly example: number
  readonly children: string
}) => (
  <div class={kind}>
    <dt>{name}</dt>
    <dd>
      <span class="track" aria-hidden="true">
        <span style={{ width: `${example}%` }} />
      </span>
      {children}
    </dd>
  </div>
)

const Keys = ({
  children,
  keys,
}: {
  readonly keys: ReadonlyArray<string>
  readonly children: string
}) => (
  <div>
    <dt>
      {keys.map((key, index) => (
        <>
          {index > 0 && " + "}
          <kbd>{key}</kbd>
        </>
      ))}
    </dt>
    <dd>{children}</dd>
  </div>
)
