/** Check of the chain in this browser, with progress and a way to stop it. */
import { Button } from "./button.tsx";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount, formatNumber } from "../core/format.ts";
import { findReceipt } from "../domain/receipts.ts";
import { walkChain } from "../domain/audit_check.ts";
import { Failure, Notice } from "./notice.tsx";
import { UserText } from "./text.tsx";

type Walked = Awaited<ReturnType<typeof walkChain>>;

/** A button that checks the entries from `from` to the newest, and the result. */
export function ChainCheck({ from, origin, label }: { from: number; origin: string; label: string }) {
  const [done, setDone] = useState<{ checked: number; total: number } | undefined>();
  const [result, setResult] = useState<Walked | undefined>();
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>();
  useEffect(() => () => running.current?.abort(), []);
  const receipt = findReceipt(origin);

  const check = async () => {
    const { signal } = (running.current = new AbortController());
    setResult(undefined);
    setError(undefined);
    setDone({ checked: 0, total: 1 });
    try {
      const expect = receipt && { id: receipt.length, hash: receipt.head };
      setResult(await walkChain({ from, signal, expect, onProgress: (checked, total) => setDone({ checked, total }) }));
    } catch (failure) {
      if (!signal.aborted) setError(failure);
    }
    setDone(undefined);
  };

  return (
    <div class="chain-check">
      {done ? (
        <div class="progress">
          <progress value={done.checked} max={Math.max(1, done.total)} aria-label="Entries checked" />
          <span>
            {formatNumber(done.checked)} of {formatNumber(done.total)} entries checked
          </span>
          <Button class="secondary small" onClick={() => running.current?.abort()} label="Stop" />
        </div>
      ) : (
        <Button class="secondary small" onClick={() => void check()} label={label} />
      )}
      <Failure error={error} alert />
      {result && <Verdict result={result} from={from} held={receipt !== undefined && receipt.length >= from} />}
    </div>
  );
}

function Verdict({ result: { fault, count, length }, from, held }: { result: Walked; from: number; held: boolean }) {
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
        {formatCount(count, "entry", "entries")} checked here, {from} to {length}: each fits its hash and is linked to
        the one before it.{" "}
        {held
          ? "The newest receipt of this browser is among them, so nothing before it was cut off or rewritten."
          : "Without a receipt, entries removed from the end or a rewritten log would not show."}
      </p>
    </Notice>
  );
}
