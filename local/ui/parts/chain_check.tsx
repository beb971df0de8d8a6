/** Check of the chain in this browser, with progress and a way to stop it. */
import { Button } from "./button.tsx";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount, formatNumber } from "../core/format.ts";
import { findReceipt } from "../domain/receipts.ts";
import { walkChain } from "../domain/audit_check.ts";
import { Failure, Notice } from "./notice.tsx";
import { UserText } from "./text.tsx";

type ChainResult = Awaited<ReturnType<typeof walkChain>>;

/** A button that checks the entries from `from` to the newest, and the result. */
export function ChainCheck({ from, origin, label }: { from: number; origin: string; label: string }) {
  const [progress, setProgress] = useState<{ checked: number; total: number } | undefined>();
  const [result, setResult] = useState<ChainResult | undefined>();
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>();
  useEffect(() => () => running.current?.abort(), []);
  const receipt = findReceipt(origin);

  const check = async () => {
    running.current = new AbortController();
    const { signal } = running.current;
    setResult(undefined);
    setError(undefined);
    setProgress({ checked: 0, total: 1 });
    try {
      const expected = receipt && { id: receipt.length, hash: receipt.head };
      setResult(
        await walkChain({
          from,
          signal,
          receipt: expected,
          onProgress: (checked, total) => setProgress({ checked, total }),
        }),
      );
    } catch (failure) {
      if (!signal.aborted) setError(failure);
    }
    setProgress(undefined);
  };

  return (
    <div class="chain-check">
      {progress ? (
        <div class="progress">
          <progress value={progress.checked} max={Math.max(1, progress.total)} aria-label="Entries checked" />
          <span>
            {formatNumber(progress.checked)} of {formatNumber(progress.total)} entries checked
          </span>
          <Button class="secondary small" onClick={() => running.current?.abort()} label="Stop" />
        </div>
      ) : (
        <Button class="secondary small" onClick={() => void check()} label={label} />
      )}
      <Failure error={error} alert />
      {result && (
        <Verdict result={result} from={from} isReceiptChecked={receipt !== undefined && receipt.length >= from} />
      )}
    </div>
  );
}

function Verdict(props: { result: ChainResult; from: number; isReceiptChecked: boolean }) {
  const { fault, count, length } = props.result;
  if (fault)
    return (
      <Notice tone="bad" alert>
        <p>
          The chain breaks at entry {fault.id}: <UserText text={fault.reason} />.
        </p>
      </Notice>
    );
  return (
    <Notice tone="good" alert>
      <p>
        {formatCount(count, "entry", "entries")} checked here, {props.from} to {length}: each matches its hash and is
        linked to the entry before.{" "}
        {props.isReceiptChecked
          ? "The newest receipt of this browser is among them, so nothing before it was cut off or rewritten."
          : "Without a receipt, entries removed from the end or a rewritten log would not show."}
      </p>
    </Notice>
  );
}
