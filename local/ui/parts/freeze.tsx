/** Freezes the service, and lifts that. */
import { useState } from "preact/hooks";
import type { AuditEntry } from "../core/api_types.ts";
import { post } from "../core/api.ts";
import { useValue } from "../core/hooks.tsx";
import { adminToken, personName } from "../core/session.ts";
import { keepReceipt } from "../domain/receipts.ts";
import { Dialog } from "./dialog.tsx";
import { Line, Lines } from "./field.tsx";
import { Failure, tokenHint } from "./notice.tsx";
import { DialogEnd, useSending } from "./sending.tsx";

const ACTS = {
  freeze: {
    title: "Freeze the service?",
    verb: "Freeze now",
    explained:
      "Nothing is applied until it is lifted or over, except what is approved as an emergency. A rollback always is.",
    hint: "Why? Everybody who wants to apply something will read it.",
  },
  unfreeze: {
    title: "Lift the freeze?",
    verb: "Lift it now",
    explained: "What is approved can be applied again.",
    hint: "Why now? It stays on record.",
  },
} as const;

/** Asks for what an act on the service itself needs. */
export function ActDialog({ act, onClose }: { act: keyof typeof ACTS; onClose: () => void }) {
  const { title, verb, explained, hint } = ACTS[act];
  const kept = useValue(personName);
  const token = useValue(adminToken);
  const [asksToken] = useState(token === "");
  const [asksName] = useState(kept === "");
  const [name, setName] = useState(kept);
  const [note, setNote] = useState("");
  const [until, setUntil] = useState("");
  const request = async () => {
    personName.set(name.trim());
    const fields = {
      actor: name.trim(),
      note: note === "" ? undefined : note,
      until: until === "" ? undefined : new Date(until).toISOString(),
    };
    keepReceipt((await post<{ audit_entry: AuditEntry }>(`api/product/${act}`, fields)).audit_entry);
  };
  const { send, busy, error, faultOf } = useSending(request, onClose);
  return (
    <Dialog title={title} onClose={onClose} busy={busy}>
      <form onSubmit={send}>
        {asksName && (
          <Line
            label="Your name"
            hint="Stands in the audit log, and is kept for this browser."
            value={name}
            onValue={setName}
            autocomplete="username"
            maxLength={200}
            required
            first
          />
        )}
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
        {asksToken && error !== undefined && (
          <Line
            label="Admin token"
            hint="Kept for this tab."
            type="password"
            autocomplete="current-password"
            value={token}
            onValue={(given) => adminToken.set(given.trim())}
          />
        )}
        <Failure error={error} alert tokenHint={tokenHint(asksToken ? "above" : "under “You”")} />
        <p class="quiet">{explained}</p>
        <DialogEnd verb={verb} busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
