import type { AuditVerdict } from "../../core/api_types.ts";
import { get, type Query } from "../../core/api.ts";
import { shortenHash, formatNumber } from "../../core/format.ts";
import { findReceipt } from "../../domain/receipts.ts";
import { humanizeName } from "../../domain/statuses.ts";
import { useResource } from "../../core/resource.tsx";
import { ChainCheck } from "../../parts/chain_check.tsx";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Notice, Pending } from "../../parts/notice.tsx";
import { Panel } from "../../parts/panel.tsx";
import { UserText } from "../../parts/text.tsx";

const NOT_CHECKED: Readonly<Record<string, string>> = {
  tail_truncation: "entries removed from the end",
  full_rewrite: "a rewritten log",
};

/** Lets this browser check the chain, which need not believe the service, and the service too. */
export function Verify({ origin }: { origin: string }) {
  const receipt = findReceipt(origin);
  return (
    <Panel title="Verify">
      <p class="quiet">
        {receipt
          ? `Verified against this browser's newest receipt: entry ${formatNumber(receipt.length)}, ${shortenHash(receipt.head)}`
          : "This browser has no receipt of this log yet. It gets one with your first decision."}
      </p>
      <ChainCheck from={1} origin={origin} label="Check in this browser" />
      <Disclosure summary="Ask the service">
        {() => <ServiceVerdict held={receipt && { expected_length: receipt.length, expected_head: receipt.head }} />}
      </Disclosure>
    </Panel>
  );
}

function ServiceVerdict({ held = {} }: { held: Query | undefined }) {
  const read = (signal: AbortSignal) => get<AuditVerdict>("api/product/audit/verify", held, signal);
  const { data, error } = useResource(`verify ${JSON.stringify(held)}`, read, { concerns: () => false });
  return data ? <VerdictText verdict={data} /> : <Pending error={error} what="the verdict" />;
}

const VerdictText = ({
  verdict: { valid, length, head, first_invalid, reason, not_checked },
}: {
  verdict: AuditVerdict;
}) => (
  <Notice tone={valid ? "good" : "bad"} alert>
    <p>
      {valid ? (
        <>
          The service finds all {formatNumber(length)} entries sound, up to{" "}
          <code title={head}>{shortenHash(head)}</code>.
        </>
      ) : (
        <>
          {first_invalid === null
            ? "The chain holds, but the rest does not: "
            : `The chain breaks at entry ${first_invalid}: `}
          <UserText text={reason ?? "the service does not say why"} />.
        </>
      )}
    </p>
    {not_checked.length > 0 && (
      <p class="quiet">
        This cannot show {not_checked.map((one) => NOT_CHECKED[one] ?? humanizeName(one)).join(" or ")}.
      </p>
    )}
  </Notice>
);
