/** The record of a change below its decision: history, verification, and the record itself. */
import type { ChangeDetail, IntentView } from "../../core/api_types.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Facts } from "../../parts/panel.tsx";
import { UserText, Json } from "../../parts/text.tsx";
import { Timeline } from "../../parts/timeline.tsx";
import { Verification } from "./verification.tsx";

/** Shows all three together, so that nothing moves while one is loaded. */
export const Record = ({ change, intent }: { change: ChangeDetail; intent: IntentView | undefined }) => (
  <>
    <Timeline entries={change.audit_entries} />
    <Verification key={change.change_id} change={change} />
    <Raw change={change} intent={intent} />
  </>
);

/** The record as JSON, drawn once it is opened, since a value may have thousands of lines. */
function Raw({ change, intent }: { change: ChangeDetail; intent: IntentView | undefined }) {
  // The current values of target systems are not part of the record.
  const { seen: _, ...record } = change;
  return (
    <Disclosure class="panel" summary="For programs">
      {() => (
        <>
          <Facts
            wide
            of={[
              ["Change", <UserText text={change.change_id} code />],
              ["Revision", String(change.revision)],
              ["Digest of what is consented to", <UserText text={change.digest} code />],
              ["Intent in force", <UserText text={intent?.manifest_hash ?? "unknown"} code />],
            ]}
          />
          <Json label="The change as JSON" of={record} />
        </>
      )}
    </Disclosure>
  );
}
