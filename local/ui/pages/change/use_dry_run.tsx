/** Dry runs of an apply or rollback; the service stores nothing about them. */
import { Button } from "../../parts/button.tsx";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { post, ServiceError } from "../../core/api.ts";
import { useIntent, useWhoami } from "../../core/shared.ts";
import { Failure } from "../../parts/notice.tsx";
import { Age } from "../../parts/time.tsx";

export type HostOperation = "apply" | "rollback";

/**
 * Makes dry runs of an operation: automatically if the reader may run it on an adapter, or if `onToken` can ask for the token;
 * otherwise when `ask` is called. Without `onToken`, returns undefined until the adapter and the permissions are known.
 */
export function useDryRun(
  { change_id, revision }: Pick<ChangeDetail, "change_id" | "revision">,
  operation: HostOperation,
  onToken?: () => void,
) {
  const { data: intent } = useIntent();
  const { data: me } = useWhoami();
  const adapter = intent?.adapter;
  const may = me?.may.includes(operation) ?? false;
  const isAuto = onToken !== undefined || (may && adapter !== null && adapter !== undefined);
  const [result, setResult] = useState<{ answer: Operation; at: number } | undefined>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(isAuto);
  const newest = useRef(0);
  const ask = async () => {
    const request = ++newest.current;
    setBusy(true);
    setError(undefined);
    try {
      const fields = { change_id, dry_run: "true" };
      const answer = await post<Operation>(`api/product/${operation}`, fields, { revision, key: null });
      if (request === newest.current) setResult({ answer, at: Date.now() });
    } catch (failure) {
      if (request !== newest.current) return;
      setError(failure);
      if (failure instanceof ServiceError && failure.body.code === "unauthorized") onToken?.();
    }
    if (request === newest.current) setBusy(false);
  };
  useEffect(() => {
    if (isAuto) void ask();
    // An answer that arrives afterwards is ignored.
    return () => void newest.current++;
  }, [isAuto, change_id, revision]);
  const isKnown = onToken !== undefined || (adapter !== undefined && me !== undefined);
  return isKnown ? { result, error, busy, ask: () => void ask(), may, adapter: adapter?.name ?? null } : undefined;
}

/** The time or error of the dry run, and a button to repeat it. */
export function DryRunStatus({ of }: { of: NonNullable<ReturnType<typeof useDryRun>> }) {
  const { result, error, busy, ask, may } = of;
  const isChangedMeanwhile = error instanceof ServiceError && error.body.status === 412;
  return (
    <>
      <p class="quiet" aria-busy={busy}>
        {busy ? (
          "Asking the host product…"
        ) : result ? (
          <>
            The host product was asked <Age at={result.at} />, and nothing was changed.
          </>
        ) : may ? (
          "The host product did not report its value."
        ) : (
          "Only people who may apply can see the host product's value."
        )}{" "}
        {!busy && <Button class="link" onClick={ask} label={result ? "Ask again" : "Ask the host product"} />}
      </p>
      {!isChangedMeanwhile && <Failure error={error} />}
    </>
  );
}
