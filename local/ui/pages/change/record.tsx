/** The record of a change below its decision: history, verification, and the record itself. */
import type { ChangeDetail, IntentView } from "../../core/api_types.ts";
import { href } from "../../core/router.tsx";
import { stepsOf } from "../../domain/timeline.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Sign } from "../../parts/mark.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Given, Json, Prose, Sentence } from "../../parts/text.tsx";
import { Moment } from "../../parts/time.tsx";
import { Verification } from "./verification.tsx";

/** Shows all three at once, so that none moves another. */
export const Record = ({ change, intent }: { change: ChangeDetail; intent: IntentView | undefined }) => (
  <>
    <Timeline change={change} />
    <Verification key={change.change_id} change={change} />
    <Raw change={change} intent={intent} />
  </>
);

/** Lists who did what, and their reasons. */
const Timeline = ({ change }: { change: ChangeDetail }) => (
  <Panel title="History">
    <ol class="timeline">
      {stepsOf(change.audit_entries).map(({ id, at, what, proven, note, shape, tone }) => (
        <li key={id} class={tone}>
          <Sign shape={shape} />
          <div>
            <p>
              <Sentence parts={what} />.
            </p>
            {proven.length > 0 && (
              <p class="quiet">
                <Sentence parts={proven} />
              </p>
            )}
            {note !== "" && (
              <blockquote>
                <Prose text={note} />
              </blockquote>
            )}
            <small class="quiet">
              <Moment at={at} />, <a href={href(["audit"], { change_id: change.change_id })}>entry {id}</a>
            </small>
          </div>
        </li>
      ))}
    </ol>
  </Panel>
);

/** The record as the service returns it, written out once it is asked for: a value may have thousands of lines. */
function Raw({ change, intent }: { change: ChangeDetail; intent: IntentView | undefined }) {
  // The values of target systems are no part of the record.
  const { seen: _, ...record } = change;
  return (
    <Disclosure class="panel" summary="For programs">
      {() => (
        <>
          <Facts
            wide
            of={[
              ["Change", <Given text={change.change_id} code />],
              ["Revision", String(change.revision)],
              ["Digest of what is consented to", <Given text={change.digest} code />],
              ["Intent in force", <Given text={intent?.manifest_hash ?? "unknown"} code />],
            ]}
          />
          <Json label="The change as JSON" of={record} />
        </>
      )}
    </Disclosure>
  );
}
