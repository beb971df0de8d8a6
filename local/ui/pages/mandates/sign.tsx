/** A signature of a mandate, or of its resumption, in one tap: its words stand above. */
import { useState } from "preact/hooks";
import type { AuditEntry, MandateDetail } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { decideMandate } from "../../domain/mandates.ts";
import { keepReceipt } from "../../domain/receipts.ts";
import { Failure } from "../../parts/notice.tsx";
import { KeptTokenField } from "../../parts/person_fields.tsx";
import { useKeys, useSending } from "../../parts/sending.tsx";
import { Signing } from "../../parts/signing.tsx";
import type { Prove } from "../../parts/use_signature.tsx";
import { Refused } from "../../core/api.ts";

/** Has a draft, or the resumption of a suspended mandate, signed. */
export function SignMandate({ mandate, name, onDone }: { mandate: MandateDetail; name: string; onDone: () => void }) {
  const isDraft = mandate.state === "draft";
  const [prove, setProve] = useState<Prove | undefined>();
  const key = useKeys();
  const { send, busy, error } = useSending(async () => {
    const fields = { mandate_id: mandate.mandate_id, approver: name, ...(await prove!()) };
    const path = `api/product/mandate-${isDraft ? "sign" : "resume"}`;
    keepReceipt((await post<{ audit_entry: AuditEntry }>(path, fields, { key: key(fields) })).audit_entry);
  }, onDone);
  const needsToken = error instanceof Refused && error.refusal.code === "unauthorized";
  return (
    <form class="one-tap" onSubmit={send}>
      <Signing
        name={name}
        matter={decideMandate(isDraft ? "mandate" : "mandate_resume", mandate, { approver: name, note: "" })}
        facts={[["Mandate", <code>{mandate.mandate_id}</code>]]}
        error={error}
        onProve={(given) => setProve(() => given)}
      >
        {isDraft ? "lets this agent do all that stands above, alone." : "resumes this mandate."}
      </Signing>
      {needsToken && <KeptTokenField />}
      <Failure error={error} alert />
      {prove && (
        <button type="submit" aria-disabled={busy} aria-busy={busy}>
          {busy ? "Waiting for your key…" : isDraft ? "Sign with your key" : "Resume with your key"}
        </button>
      )}
    </form>
  );
}
