/** Sends a decision on a change as it is shown: under its revision, once, with what came of it. */
import { useState } from "preact/hooks";
import type { ChangeDetail, Decision, Operation } from "../../core/api_types.ts";
import { type Fields, post, Refused } from "../../core/api.ts";
import { type ChangeAction, CHANGE_ACTIONS } from "../../domain/change_actions.ts";
import { keepReceipt } from "../../domain/receipts.ts";
import { useKeys } from "../../parts/sending.tsx";

/** What came of it. */
export type Decided = { action: ChangeAction; answer: Decision | Operation };

/** What is decided, and who is told. */
export interface Deciding {
  change: ChangeDetail;
  action: ChangeAction;
  onDone: (decided: Decided) => void;
  onRefused: (message: string) => void;
  /** The change may be another one by now. */
  onStale?: (failure: Refused) => Promise<void>;
}

const STALE = [400, 404, 409, 412];

/** A decision on its way: `decide` takes what makes its fields, which may ask a person for a key first. */
export function useDecision({ change, action, onDone, onRefused, onStale }: Deciding) {
  const [stage, setStage] = useState<"proving" | "sending" | undefined>();
  const [error, setError] = useState<unknown>();
  const [asksToken, setAsksToken] = useState(false);
  const key = useKeys();
  const decide = async (fieldsOf: () => Fields | Promise<Fields>): Promise<void> => {
    if (stage) return;
    setStage("proving");
    setError(undefined);
    try {
      const fields = await fieldsOf();
      setStage("sending");
      const conditions = { revision: change.revision, key: key(fields) };
      const answer = await post<Decision | Operation>(CHANGE_ACTIONS[action].path, fields, conditions);
      keepReceipt(answer.audit_entry);
      onDone({ action, answer });
    } catch (failure) {
      setStage(undefined);
      setError(failure);
      if (!(failure instanceof Refused)) return;
      const { status, code } = failure.refusal;
      if (code === "unauthorized") setAsksToken(true);
      if (status === 403) onRefused(failure.message);
      if (STALE.includes(status)) await onStale?.(failure);
    }
  };
  return { busy: stage !== undefined, stage, error, asksToken, askToken: () => setAsksToken(true), decide };
}
