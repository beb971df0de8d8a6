/** Records the advance of a rollout to its next step. */
import { watchChange } from "../guardrail.ts";
import type { Actor } from "../rules/actor.ts";
import type { ChangeRecord } from "../rules/record.ts";
import type { CommandResult, Transaction } from "../transaction.ts";

/** The facts of an advance for its entry, and its actor. */
export interface Advance {
  circumstance: object;
  actor: Actor;
}

/** Records an advance. Guardrails watch the change again from this moment. */
export function recordAdvance(
  transaction: Transaction,
  record: ChangeRecord,
  { circumstance, actor }: Advance,
): CommandResult {
  const { step } = record.change.exposure!;
  const { shares } = record.rollout!;
  // After the last step all users have the value, and the entry names no share.
  const share = shares[step + 1] ?? null;
  const result = transaction.execute(
    record,
    { type: "stage", event: "advanced", step, circumstance: { to: step + 1, share, ...circumstance } },
    actor,
  );
  watchChange(transaction, result.record);
  return result;
}
