/** Acts on the service itself: freezes it, lifts that, and puts up with its clock. */
import { useState } from "preact/hooks";
import type { AuditEntry } from "../core/api_types.ts";
import { clockBehind, post } from "../core/api.ts";
import { dateTime } from "../core/format.ts";
import { useValue } from "../core/hooks.tsx";
import { adminToken, personName } from "../core/session.ts";
import { useIntent } from "../core/shared.ts";
import { asSent, keysOf } from "../domain/keys.ts";
import { keepReceipt } from "../domain/receipts.ts";
import { actOf } from "../domain/statement.ts";
import { Dialog } from "./dialog.tsx";
import { Line, Lines } from "./field.tsx";
import { Failure, tokenHint } from "./notice.tsx";
import { KeptTokenField, NameField } from "./person_fields.tsx";
import { DialogEnd, useKeys, useSending } from "./sending.tsx";
import { Signing } from "./signing.tsx";
import type { Prove } from "./use_signature.tsx";

const ACTS = {
  freeze: {
    title: "Freeze the service?",
    path: "api/product/freeze",
    verb: "Freeze",
    says: "freezes the service",
    explained:
      "Nothing is applied until it is lifted or over, except what is approved as an emergency. A rollback is always possible.",
    hint: "Why? Everybody who wants to apply something will read it.",
  },
  accept_clock: {
    title: "Date entries by the clock as it is?",
    path: "api/product/audit/accept-clock",
    verb: "Accept the clock",
    says: "accepts the clock as it is",
    explained:
      "One entry is written that is dated before the one before it, and stands in the log for ever; after it everything is taken again. Set the clock right first.",
    hint: "What was wrong with the clock, and until when? It stays on record.",
  },
  unfreeze: {
    title: "Lift the freeze?",
    path: "api/product/unfreeze",
    verb: "Lift it",
    says: "lifts the freeze",
    explained: "What is approved can be applied again.",
    hint: "Why now? It stays on record.",
  },
} as const;

/** Asks for what an act on the service itself needs. */
export function ActDialog({
  act,
  onClose,
  onDone = onClose,
}: {
  act: keyof typeof ACTS;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { title, path, verb, says, explained, hint } = ACTS[act];
  const { data: intent } = useIntent();
  const kept = useValue(personName);
  const [asksToken] = useState(adminToken.get() === "");
  const [asksName] = useState(kept === "");
  const [name, setName] = useState(kept);
  const [note, setNote] = useState("");
  const [until, setUntil] = useState("");
  const [prove, setProve] = useState<Prove | undefined>();
  const signs = keysOf(name, intent?.keys).length > 0;
  const fields = {
    actor: asSent(name),
    note: note === "" ? undefined : note,
    until: until === "" ? undefined : new Date(until).toISOString(),
  };
  const key = useKeys();
  const request = async () => {
    personName.set(name.trim());
    const sent = { ...fields, ...(signs && (await prove?.())) };
    const answer = await post<{ audit_entry: AuditEntry }>(path, sent, { key: key(sent) });
    keepReceipt(answer.audit_entry);
    if (act === "accept_clock") clockBehind.set(false);
  };
  const { send, busy, error, faultOf } = useSending(request, onDone);
  return (
    <Dialog title={title} onClose={onClose} busy={busy}>
      <form onSubmit={send}>
        {asksName && <NameField value={name} onValue={setName} required first />}
        <Lines label="Note" hint={hint} value={note} onValue={setNote} rows={3} maxLength={4000} first={!asksName} />
        {act === "freeze" && (
          <Line
            label="Until"
            hint="In your time zone. Left empty, it lasts until somebody lifts it."
            type="datetime-local"
            value={until}
            onValue={setUntil}
            error={faultOf("until")}
          />
        )}
        {signs && (
          <Signing
            name={fields.actor}
            matter={actOf({ ...fields, decision: act, note })}
            facts={fields.until === undefined ? [] : [["Until", dateTime(fields.until)]]}
            error={error}
            onProve={(given) => setProve(() => given)}
          >
            {says}
            {note === "" ? "." : ", with your note."}
          </Signing>
        )}
        {asksToken && error !== undefined && <KeptTokenField />}
        <Failure error={error} alert tokenHint={tokenHint(asksToken ? "above" : "under “You”")} />
        <p class="quiet">{explained}</p>
        <DialogEnd
          verb={`${verb} ${signs ? "with your key" : "now"}`}
          busy={busy}
          disabled={signs && !prove && !busy}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
