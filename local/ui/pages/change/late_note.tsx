/** Late notes: a missing rationale or note can be added after the decision, each of them once. */
import { Button } from "../../parts/button.tsx";
import { useEffect, useState } from "preact/hooks";
import { isItemMissing } from "../../../../lib/changes/rules/late_items.ts";
import type { ChangeDetail } from "../../core/api_types.ts";
import { shortenHash } from "../../core/format.ts";
import { makeSignableDecision } from "../../domain/statement.ts";
import { type ActionForm, ActionDialog } from "../../parts/action_dialog.tsx";
import { Panel } from "../../parts/panel.tsx";

const LATE_NOTE = {
  decision: "note",
  explanation: "It becomes a new entry under your name, dated now. Content and decisions stay as they are.",
  isNoteRequired: true,
} as const;

const ITEMS = {
  rationale: {
    ...LATE_NOTE,
    label: "Add a late rationale",
    title: "Add a late rationale?",
    says: "adds this late rationale",
    noteHint: "Why was it proposed? It stays on record, marked late.",
    noteLabel: "Rationale",
  },
  note: {
    ...LATE_NOTE,
    label: "Add a late note",
    title: "Add a late note?",
    says: "adds this late note",
    noteHint: "What spoke for the decision? It stays on record, marked late.",
  },
} as const satisfies Record<string, ActionForm>;

/** Lists the reasons that a decided change lacks, with a form for each. A minor change needs no note. */
export function LateNotes({ change, onDone }: { change: ChangeDetail; onDone: () => void }) {
  const [item, setItem] = useState<keyof typeof ITEMS | undefined>();
  const [addedCount, setAddedCount] = useState(0);
  // The pressed button is gone, so the heading takes the focus.
  useEffect(() => {
    if (addedCount > 0) document.querySelector<HTMLElement>("h1")?.focus();
  }, [addedCount]);
  const missing = (["rationale", "note"] as const).filter(
    (candidate) => isItemMissing(change, candidate) && (candidate === "rationale" || change.tier !== "minor"),
  );
  if (missing.length === 0) return null;
  const done = () => {
    setItem(undefined);
    setAddedCount(addedCount + 1);
    onDone();
  };
  return (
    <Panel title="Missing reasons">
      {missing.map((missingItem) => (
        <p key={missingItem}>
          {missingItem === "rationale" ? "Nobody said why." : "Nobody who decided left a note."}{" "}
          <Button class="link" onClick={() => setItem(missingItem)} label={`${ITEMS[missingItem].label}…`} />
        </p>
      ))}
      {item && (
        <ActionDialog
          of={ITEMS[item]}
          fields={{ change_id: change.change_id, item }}
          signed={{
            signable: ({ name, note }) =>
              makeSignableDecision(change, { decision: "note", approver: name, note, item }),
            facts: [["Content", <code title={change.digest}>{shortenHash(change.digest)}</code>]],
          }}
          onClose={() => setItem(undefined)}
          onDone={done}
        />
      )}
    </Panel>
  );
}
