/** Can I believe this page? The change's entries, each hash computed again here, and the chain from the first of them on. */
import { useEffect, useState } from "preact/hooks";
import type { ChangeDetail } from "../../core/api_types.ts";
import { brief } from "../../core/format.ts";
import { canHash } from "../../core/sha256.ts";
import { checkEach } from "../../domain/audit_check.ts";
import { EntryText } from "../../parts/entry.tsx";
import { Mark } from "../../parts/mark.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ChainCheck } from "../../parts/chain_check.tsx";
import { KeepCertificate } from "./certificate.tsx";

/** The entries and their check. */
export function AuditSlice({ change: { change_id, audit_entries: entries } }: { change: ChangeDetail }) {
  const [sound, setSound] = useState<Map<number, boolean> | undefined>();
  const shown = entries.map(({ current_hash }) => current_hash).join();
  useEffect(() => {
    let gone = false;
    if (canHash()) void checkEach(entries).then((checked) => gone || setSound(checked));
    return () => void (gone = true);
  }, [shown]);
  return (
    <Panel title="Can you believe this page?">
      <p>
        {!canHash()
          ? "This browser computes hashes only over https or on localhost, so the entries are not checked here."
          : sound === undefined
            ? "Computing the hashes in this browser…"
            : entries.every(({ id }) => sound.get(id))
              ? soundSentence(entries.length)
              : "An entry does not fit its hash: it was altered after it was written."}
      </p>
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Entry</th>
            <th scope="col">Event</th>
            <th scope="col">Hash</th>
            <th scope="col">Checked here</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td data-label="Entry">{entry.id}</td>
              <td data-label="Event">
                <EntryText entry={entry} />
              </td>
              <td data-label="Hash">
                <code title={entry.current_hash}>{brief(entry.current_hash)}</code>
              </td>
              <td data-label="Checked here">
                <Mark of={soundness(sound?.get(entry.id))} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length > 0 && (
        <ChainCheck
          from={entries[0]!.id}
          origin={entries[0]!.origin}
          label={`Check the links from entry ${entries[0]!.id} to the newest`}
        />
      )}
      <KeepCertificate key={change_id} id={change_id} />
    </Panel>
  );
}

const soundSentence = (count: number): string =>
  count === 1
    ? "This browser computed the hash again: the entry fits its content."
    : `This browser computed the hashes again: all ${count} entries fit their content.`;

const soundness = (sound: boolean | undefined) =>
  sound === undefined
    ? ({ word: "not checked", shape: "dash", tone: "quiet" } as const)
    : sound
      ? ({ word: "fits", shape: "check", tone: "good" } as const)
      : ({ word: "altered", shape: "bang", tone: "bad" } as const);
