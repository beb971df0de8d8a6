import { useState } from "preact/hooks";
import type { AuditEntry } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { useIntent } from "../../core/shared.ts";
import { asSent, isSigned } from "../../domain/keys.ts";
import { actOf } from "../../domain/statement.ts";
import { titled } from "../../domain/statuses.ts";
import { keepReceipt } from "../../domain/receipts.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Line, Lines } from "../../parts/field.tsx";
import { Failure } from "../../parts/notice.tsx";
import { NameField } from "../../parts/person_fields.tsx";
import { DialogEnd, useKeys, useSending } from "../../parts/sending.tsx";
import { Signing } from "../../parts/signing.tsx";
import type { Prove } from "../../parts/use_signature.tsx";

/** Feeds what is filled in; a name with keys signs it where the intent lists who may. */
export function FeedDialog({ names, onClose }: { names: readonly string[]; onClose: () => void }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const { data: intent } = useIntent();
  const kept = useValue(personName);
  const [asksName] = useState(kept === "");
  const [name, setName] = useState(kept);
  const [note, setNote] = useState("");
  const [prove, setProve] = useState<Prove | undefined>();
  const signs = isSigned("feed_kpis", name, intent);
  const actor = asSent(name);
  const stated = Object.entries(values).filter(([, text]) => text.trim() !== "");
  const key = useKeys();
  const { send, busy, error, faultOf } = useSending(async () => {
    if (name.trim() !== "") personName.set(name.trim());
    const fields = {
      ...Object.fromEntries(stated.map(([kpi, text]) => [kpi, text.trim()])),
      actor: actor || undefined,
      note: note || undefined,
    };
    const sent = { ...fields, ...(signs && (await prove?.())) };
    const { audit_entry } = await post<{ audit_entry: AuditEntry }>("api/product/kpi", sent, { key: key(sent) });
    keepReceipt(audit_entry);
  }, onClose);
  return (
    <Dialog title="Enter KPI values" onClose={onClose} busy={busy}>
      <form onSubmit={send}>
        <p class="quiet">Fields left empty keep their value. One invalid number rejects them all.</p>
        <div class="grid">
          {names.map((kpi, index) => (
            <Line
              key={kpi}
              label={titled(kpi)}
              inputMode="decimal"
              value={values[kpi] ?? ""}
              onValue={(text) => setValues({ ...values, [kpi]: text })}
              error={faultOf(kpi)}
              first={index === 0}
            />
          ))}
        </div>
        {asksName && <NameField value={name} onValue={setName} />}
        <Lines
          label="Note"
          hint="Where do the values come from?"
          value={note}
          onValue={setNote}
          rows={2}
          maxLength={4000}
        />
        {signs && (
          <Signing
            name={actor}
            matter={actOf({
              decision: "feed_kpis",
              actor,
              note,
              kpis: Object.fromEntries(stated.map(([kpi, text]) => [kpi, Number(text)])),
            })}
            facts={stated.map(([kpi, text]) => [titled(kpi), text.trim()] as const)}
            error={error}
            onProve={(given) => setProve(() => given)}
          >
            enters these KPI values{note === "" ? "." : ", with your note."}
          </Signing>
        )}
        <Failure error={error} alert />
        <DialogEnd
          verb={signs ? "Save with your key" : "Save"}
          busy={busy}
          disabled={signs && !prove && !busy}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
