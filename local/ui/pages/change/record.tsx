/** The record of a change below its decision: history, verification, and the record itself. */
import type { ChangeDetail, IntentView } from "../../core/api_types.ts";
import { Disclosure, Facts, Panel } from "../../parts/panel.tsx";
import { UserText, Json } from "../../parts/text.tsx";
import { Timeline } from "../../parts/timeline.tsx";
import { useMemo } from "preact/hooks";
import { hasOwnHash } from "../../domain/audit_check.ts";
import { ChainCheck } from "../../parts/chain_check.tsx";
import { Download } from "../../parts/download.tsx";
import { StatusBadge } from "../../parts/badge.tsx";

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

/** Checks the entries of a change in this browser, and the chain from the first of them on; offers the proof as files. */
export function Verification({ change: { change_id, audit_entries: entries } }: { change: ChangeDetail }) {
  const hashes = entries.map(({ current_hash }) => current_hash).join();
  const altered = useMemo(() => entries.filter((entry) => !hasOwnHash(entry)), [hashes]);
  return (
    <Panel title="Verification">
      <p class="verified">
        {altered.length > 0
          ? "A hash does not match its entry: the entry was altered after it was written."
          : entries.length === 1
            ? "This browser computed the hash again: it matches the entry."
            : `This browser computed the hashes again: all ${entries.length} hashes match their entries.`}
      </p>
      {altered.map(({ id }) => (
        <p key={id}>
          Entry {id}: <StatusBadge of={{ word: "altered", shape: "bang", tone: "bad" }} />
        </p>
      ))}
      {entries.length > 0 && (
        <ChainCheck
          from={entries[0]!.id}
          origin={entries[0]!.origin}
          label={`Check the links from entry ${entries[0]!.id} to the newest`}
        />
      )}
      <Download
        label="Download proof of this change"
        path={`api/product/changes/${encodeURIComponent(change_id)}/certificate`}
        name={`${change_id}.certificate`}
      />
      <Download label="Download pack" path="api/product/pack" query={{ change_id }} name={`${change_id}.tar`} />
      <p class="quiet">
        <code>countersign-verify certificate FILE</code> checks the proof without this service.
      </p>
    </Panel>
  );
}
