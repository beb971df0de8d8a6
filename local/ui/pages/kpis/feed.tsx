import { useState } from "preact/hooks";
import type { AuditEntry } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { titled } from "../../domain/statuses.ts";
import { keepReceipt } from "../../domain/receipts.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Line } from "../../parts/field.tsx";
import { Failure } from "../../parts/notice.tsx";
import { DialogEnd, useKeys, useSending } from "../../parts/sending.tsx";

/** Feeds what is filled in. */
export function FeedDialog({ names, onClose }: { names: readonly string[]; onClose: () => void }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const key = useKeys();
  const { send, busy, error, faultOf } = useSending(async () => {
    const given = Object.entries(values).filter(([, text]) => text.trim() !== "");
    const fields = Object.fromEntries(given.map(([kpi, text]) => [kpi, text.trim()]));
    const { audit_entry } = await post<{ audit_entry: AuditEntry }>("api/product/kpi", fields, { key: key(fields) });
    keepReceipt(audit_entry);
  }, onClose);
  return (
    <Dialog title="Feed KPIs" onClose={onClose} busy={busy}>
      <form onSubmit={send}>
        <p class="quiet">
          Fill in what was measured; what is left empty keeps its value. One wrong figure refuses them all.
        </p>
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
        <Failure error={error} alert />
        <DialogEnd verb="Feed" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
