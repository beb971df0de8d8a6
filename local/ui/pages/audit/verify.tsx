import { useState } from "preact/hooks";
import type { AuditVerdict } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { brief, figure } from "../../core/format.ts";
import { receiptFor } from "../../domain/receipts.ts";
import { words } from "../../domain/statuses.ts";
import { ChainCheck } from "../../parts/chain_check.tsx";
import { Failure, Notice } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Given } from "../../parts/text.tsx";

const NOT_CHECKED: Readonly<Record<string, string>> = {
  tail_truncation: "entries removed from the end",
  full_rewrite: "a rewritten log",
};

/** Lets the service check the chain, and this browser too, which need not believe it. */
export function Verify({ origin }: { origin: string }) {
  const [verdict, setVerdict] = useState<AuditVerdict | undefined>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const receipt = receiptFor(origin);
  const ask = async () => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    setVerdict(undefined);
    const held = receipt ? { expected_length: receipt.length, expected_head: receipt.head } : {};
    try {
      setVerdict(await get<AuditVerdict>("api/product/audit/verify", held));
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <Panel title="Verify">
      <p class="quiet">
        {receipt
          ? `Held against this browser's newest receipt: entry ${figure(receipt.length)}, ${brief(receipt.head)}`
          : "This browser has no receipt of this log yet. It gets one with your first decision."}
      </p>
      <div class="buttons">
        <button type="button" class="small" onClick={() => void ask()} aria-disabled={busy} aria-busy={busy}>
          {busy ? "The service is checking…" : "Ask the service"}
        </button>
      </div>
      <ChainCheck from={1} origin={origin} label="Check in this browser" />
      <Failure error={error} alert />
      {verdict && <Told verdict={verdict} />}
    </Panel>
  );
}

const Told = ({ verdict: { valid, length, head, first_invalid, reason, not_checked } }: { verdict: AuditVerdict }) => (
  <Notice tone={valid ? "good" : "bad"} alert>
    <p>
      {valid ? (
        <>
          The service finds all {figure(length)} entries sound, up to <code title={head}>{brief(head)}</code>.
        </>
      ) : (
        <>
          {first_invalid === null
            ? "The chain holds, but the rest does not: "
            : `The chain breaks at entry ${first_invalid}: `}
          <Given text={reason ?? "the service does not say why"} />.
        </>
      )}
    </p>
    {not_checked.length > 0 && (
      <p class="quiet">This cannot show {not_checked.map((one) => NOT_CHECKED[one] ?? words(one)).join(" or ")}.</p>
    )}
  </Notice>
);
