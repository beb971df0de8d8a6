import { useEffect, useRef, useState } from "preact/hooks";
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { post, Refused } from "../../core/api.ts";

/** A dry run that was answered, and when (milliseconds). */
export interface Rehearsal {
  answer: Operation;
  at: number;
}

/**
 * Asks the host product what an operation would do, as often as is wanted; `auto` asks at once, and again when the change has
 * moved. Nothing is kept of it anywhere.
 */
export function useRehearsal(
  { change_id, revision }: Pick<ChangeDetail, "change_id" | "revision">,
  operation: "apply" | "rollback",
  { auto, onToken }: { auto: boolean; onToken?: (() => void) | undefined },
) {
  const [seen, setSeen] = useState<Rehearsal | undefined>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(auto);
  const newest = useRef(0);
  const ask = async () => {
    const own = ++newest.current;
    setBusy(true);
    setError(undefined);
    try {
      const fields = { change_id, dry_run: "true" };
      const answer = await post<Operation>(`api/product/${operation}`, fields, { revision, key: null });
      if (own === newest.current) setSeen({ answer, at: Date.now() });
    } catch (failure) {
      if (own !== newest.current) return;
      setError(failure);
      if (failure instanceof Refused && failure.refusal.code === "unauthorized") onToken?.();
    }
    if (own === newest.current) setBusy(false);
  };
  useEffect(() => {
    if (auto) void ask();
    return () => void newest.current++;
  }, [auto, change_id, revision]);
  return { seen, error, busy, ask: () => void ask() };
}
