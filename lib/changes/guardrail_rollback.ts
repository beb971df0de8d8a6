/** The rollbacks that guardrails order. */
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { runOperation } from "./commands/run_operation.ts";
import { POLICY_GUARDRAIL } from "./rules/actor.ts";

const MAX_ATTEMPTS = 5;

/** Result of the oldest rollback that is due. */
export interface GuardrailRun {
  rolled_back: string | null;
  given_up: { change_id: string; reason: string } | null;
}

const NO_ROLLBACK: GuardrailRun = { rolled_back: null, given_up: null };

/** Rolls back the oldest change that tripped a guardrail: one in each cycle, with at most five attempts. */
export async function rollBackTripped(deps: ChangesDeps): Promise<GuardrailRun> {
  const [due] = await deps.store.list("guardrail_due", { limit: 1 });
  if (!due) return NO_ROLLBACK;
  // The number of failed attempts is no evidence.
  const { tries: _, ...evidence } = due.value;
  try {
    const input = { change_id: due.id, actor: POLICY_GUARDRAIL, evidence };
    await runOperation({ deps }, { ...input, operation: "rollback" });
    return { ...NO_ROLLBACK, rolled_back: due.id };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Another process works on the change: its result counts, and this is no failed attempt.
    if (error.code === "operation_in_progress") return NO_ROLLBACK;
    return { ...NO_ROLLBACK, given_up: await countFailure(deps, due.id, error) };
  }
}

/** Counts a failed attempt; returns the change and the reason after the last one. */
function countFailure({ store }: ChangesDeps, changeId: string, error: AppError): Promise<GuardrailRun["given_up"]> {
  return store.transact(async (tx) => {
    const due = (await tx.get("guardrail_due", changeId))?.value;
    if (!due) return null;
    const tries = (due.tries ?? 0) + 1;
    // Another attempt would fail in the same way.
    const isFinal = error.code === "illegal_transition" || error.code === "evidence_mismatch";
    if (!isFinal && tries < MAX_ATTEMPTS) {
      tx.put("guardrail_due", changeId, { ...due, tries });
      return null;
    }
    tx.delete("guardrail_due", changeId);
    return { change_id: changeId, reason: error.message };
  });
}
