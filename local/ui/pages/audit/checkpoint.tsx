import { useState } from "preact/hooks";
import type { Checkpoint as CheckpointOf } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { figure } from "../../core/format.ts";
import { CopyBlock } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Notice, Pending } from "../../parts/notice.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Given } from "../../parts/text.tsx";
import { Moment } from "../../parts/time.tsx";

/** A note over the whole log, small enough to keep elsewhere. */
export function Checkpoint() {
  const [shown, setShown] = useState<CheckpointOf | undefined>();
  const [error, setError] = useState<unknown>();
  const ask = () =>
    get<CheckpointOf>("api/product/audit/checkpoint").then(
      (checkpoint) => {
        setError(undefined);
        setShown(checkpoint);
      },
      (failure: unknown) => setError(failure),
    );
  return (
    <Panel title="Checkpoint">
      <p class="quiet">
        Length and Merkle root of the log in one note. Whoever keeps it can show later that nothing was lost.
      </p>
      <button type="button" class="secondary small" onClick={() => void ask()}>
        Show the checkpoint…
      </button>
      {error !== undefined && <Pending error={error} what="the checkpoint" />}
      {shown && <Note of={shown} onClose={() => setShown(undefined)} />}
    </Panel>
  );
}

const Note = ({ of, onClose }: { of: CheckpointOf; onClose: () => void }) => (
  <Dialog title="Checkpoint" onClose={onClose}>
    <Facts
      wide
      of={[
        ["Entries", figure(of.length)],
        ["Made", <Moment at={of.at} />],
        ["Log", <Given text={of.origin} code />],
        ["Root", <Given text={of.root} code />],
        ["Verifier key", of.key === null ? "none" : <Given text={of.key} code />],
      ]}
    />
    {!of.signed && <Notice tone="warn">It is not signed: start the service with --audit-key to have it signed.</Notice>}
    <CopyBlock label="The note" text={of.checkpoint} />
    <footer>
      <button type="button" class="secondary" data-first onClick={onClose}>
        Close
      </button>
    </footer>
  </Dialog>
);
