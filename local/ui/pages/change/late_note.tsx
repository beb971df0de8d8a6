/** What was not said when a change was decided can be said afterwards, once each, and is marked late. */
import { useEffect, useState } from "preact/hooks";
import { isMissing } from "../../../../lib/changes/rules/late_items.ts";
import type { AuditEntry, ChangeDetail } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { brief } from "../../core/format.ts";
import { adminToken, personName } from "../../core/session.ts";
import { useIntent } from "../../core/shared.ts";
import { asSent, keysOf } from "../../domain/keys.ts";
import { keepReceipt } from "../../domain/receipts.ts";
import { decisionOn } from "../../domain/statement.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Lines } from "../../parts/field.tsx";
import { Failure, tokenHint } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { KeptTokenField, NameField } from "../../parts/person_fields.tsx";
import { DialogEnd, useKeys, useSending } from "../../parts/sending.tsx";
import { Signing } from "../../parts/signing.tsx";
import type { Prove } from "../../parts/use_signature.tsx";

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

/** What M misses on a decided change, with a form for each; nothing where all is on record. A minor change needs no note. */
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
    <Panel title="What is not on record?">
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
  const kept = useValue(personName);
  const [asksToken] = useState(adminToken.get() === "");
  const [asksName] = useState(kept === "");
  const [name, setName] = useState(kept);
  const [note, setNote] = useState("");
  const [prove, setProve] = useState<Prove | undefined>();
  const { data: intent } = useIntent();
  const actor = asSent(name);
  const signs = keysOf(name, intent?.keys).length > 0;
  const key = useKeys();
  const request = async () => {
    personName.set(name.trim());
    const fields = { change_id: change.change_id, actor, item, note };
    const sent = { ...fields, ...(signs && (await prove?.())) };
    const answer = await post<{ audit_entry: AuditEntry }>("api/product/note", sent, { key: key(sent) });
    keepReceipt(answer.audit_entry);
  };
  const { send, busy, error, faultOf } = useSending(request, onDone);
  return (
    <Dialog title={`${verb}?`} onClose={onClose} busy={busy}>
      <form onSubmit={send}>
        {asksName && <NameField value={name} onValue={setName} required first />}
        <Lines
          label={item === "rationale" ? "Rationale" : "Note"}
          hint={hint}
          value={note}
          onValue={setNote}
          rows={3}
          maxLength={4000}
          required
          error={faultOf("note")}
          first={!asksName}
        />
        {signs && (
          <Signing
            name={actor}
            matter={decisionOn(change, { decision: "note", approver: actor, note, item })}
            facts={[["Content", <code title={change.digest}>{brief(change.digest)}</code>]]}
            error={error}
            onProve={(given) => setProve(() => given)}
          >
            adds this late {item}.
          </Signing>
        )}
        {asksToken && error !== undefined && <KeptTokenField />}
        <Failure error={error} alert tokenHint={tokenHint(asksToken ? "above" : "under “You”")} />
        <p class="quiet">
          It is an entry of its own, under your name and of now. Content and decisions stay as they are.
        </p>
        <DialogEnd
          verb={signs ? `${verb} with your key` : verb}
          busy={busy}
          disabled={signs && !prove && !busy}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
