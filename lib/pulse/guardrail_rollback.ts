import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { operate } from "../governance/operate.ts";
import type { GuardrailEvidence } from "../governance/records.ts";
import { addGrowth } from "./growth_log.ts";
import { POLICY_GUARDRAIL } from "./tally_steps.ts";

const TRIES = 5;

/** Rolls back the oldest change that a guardrail condemned and returns its id; one a cycle, five tries. */
export async function rollBackCondemned(deps: Deps): Promise<string | null> {
  const [due] = await deps.store.list<GuardrailEvidence & { tries?: number }>("guardrail_due", { limit: 1 });
  if (!due) return null;
  const { tries = 0, ...evidence } = due.value;
  try {
    await operate({ deps }, { change_id: due.id, operation: "rollback", by: POLICY_GUARDRAIL, evidence });
    return due.id;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const again = error.code !== "illegal_transition" && tries + 1 < TRIES;
    await deps.store.transact(async (tx) => {
      if (again) return tx.put("guardrail_due", due.id, { ...evidence, tries: tries + 1 });
      tx.delete("guardrail_due", due.id);
      await addGrowth(tx, {
        at: new Date(deps.clock.now()).toISOString(),
        kind: "guardrail",
        title: `The guardrail's rollback of ${due.id} is given up`,
        detail: error.message,
        ref: due.id,
      });
    });
    return null;
  }
}
