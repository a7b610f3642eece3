import { Field } from "../Parts.tsx"
import { type Column, Table, text, when, words } from "../Table.tsx"
import type { AuditLine } from "./AdminApi.ts"
import { usePages, useTyped } from "./OperatorState.ts"
import { More, Page } from "./Parts.tsx"

/** Shows what operators changed, and what was refused. */
export const Audit = () => {
  const subject = useTyped()
  const actor = useTyped()
  const action = useTyped()
  const filter = { subject: subject.settled, actor: actor.settled, action: action.settled }
  const { more, rows } = usePages(
    "audit",
    async (api, before) => {
      const { entries } = await api.audit(filter, before)
      return entries
    },
    ...Object.values(filter),
  )
  return (
    <Page title="Audit">
      <Table
        title="Changes, newest first"
        file="audit"
        empty="No line was found."
        rows={rows}
        keyOf={({ sequence }) => sequence}
        columns={columns}
        foot={<More act={more} />}
      >
        <div class="fields">
          <Field name="Subject" value={subject.typed} hint="acme" />
          <Field name="Actor" value={actor.typed} hint="admin@192.0.2.1" />
          <Field name="Action" value={action.typed} hint="credits.grant" />
        </div>
      </Table>
    </Page>
  )
}

const detailOf = ({ detail }: AuditLine) =>
  Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ")

const columns: ReadonlyArray<Column<AuditLine>> = [
  when("Time", ({ at }) => at),
  text("Actor", ({ actor }) => actor),
  text("Action", ({ action }) => action),
  text("Subject", ({ subject }) => subject),
  words("Detail", detailOf),
]
