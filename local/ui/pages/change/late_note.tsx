/** Late notes: a reason that is missing can be added after a decision, once each. */
import { useEffect, useState } from "preact/hooks";
import { isMissing } from "../../../../lib/changes/rules/late_items.ts";
import type { ChangeDetail } from "../../core/api_types.ts";
import { brief } from "../../core/format.ts";
import { decisionOn } from "../../domain/statement.ts";
import { ActionDialog } from "../../parts/action_dialog.tsx";
import { Panel } from "../../parts/panel.tsx";

const ITEMS = {
  rationale: {
    lacks: "Nobody said why.",
    verb: "Add a late rationale",
    hint: "Why was it proposed? It stays on record, marked late.",
  },
  note: {
    lacks: "Nobody who decided left a note.",
    verb: "Add a late note",
    hint: "What spoke for the decision? It stays on record, marked late.",
  },
} as const;
type Item = keyof typeof ITEMS;

/** Lists the reasons that a decided change lacks, with a form for each. A minor change needs no note. */
export function LateNotes({ change, onDone }: { change: ChangeDetail; onDone: () => void }) {
  const [adding, add] = useState<Item | undefined>();
  const missing = (["rationale", "note"] as const).filter(
    (item) => isMissing(change, item) && (item === "rationale" || change.tier !== "minor"),
  );
  if (missing.length === 0) return null;
  const [added, setAdded] = useState(0);
  const done = () => {
    add(undefined);
    setAdded(added + 1);
    onDone();
  };
  // The button that was pressed is gone.
  useEffect(() => {
    if (added > 0) document.querySelector<HTMLElement>("h1")?.focus();
  }, [added]);
  return (
    <Panel title="Missing reasons">
      {missing.map((item) => (
        <p key={item}>
          {ITEMS[item].lacks}{" "}
          <button type="button" class="link" onClick={() => add(item)}>
            {ITEMS[item].verb}…
          </button>
        </p>
      ))}
      {adding && <LateNoteDialog change={change} item={adding} onClose={() => add(undefined)} onDone={done} />}
    </Panel>
  );
}

function LateNoteDialog({
  change,
  item,
  onClose,
  onDone,
}: {
  change: ChangeDetail;
  item: Item;
  onClose: () => void;
  onDone: () => void;
}) {
  const { verb, hint } = ITEMS[item];
  return (
    <ActionDialog
      of={{
        title: `${verb}?`,
        path: "api/product/note",
        verb,
        decision: "note",
        says: `adds this late ${item}`,
        explained: "It is an entry of its own, under your name and dated now. Content and decisions stay as they are.",
        noteHint: hint,
        noteLabel: item === "rationale" ? "Rationale" : "Note",
        isNoteRequired: true,
      }}
      fields={{ change_id: change.change_id, item }}
      facts={[["Content", <code title={change.digest}>{brief(change.digest)}</code>]]}
      matter={({ actor, note }) => decisionOn(change, { decision: "note", approver: actor, note, item })}
      onClose={onClose}
      onDone={onDone}
    />
  );
}
