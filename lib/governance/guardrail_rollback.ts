import type { GovernanceDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import { operate } from "./operation/run.ts";
import type { GuardrailEvidence } from "./records.ts";
import { addGrowth } from "../follow/growth_log.ts";
import { POLICY_GUARDRAIL } from "../follow/tally_steps.ts";

declare module "../store/store.ts" {
  interface Collections {
    guardrail_due: Due;
  }
}

const TRIES = 5;

/** `guardrail_due/<change_id>`: a rollback that the intent orders, and how often it has failed. */
type Due = GuardrailEvidence & { tries?: number };

/** Rolls back the oldest change that a guardrail condemned and returns its id; one a cycle, five tries. */
export async function rollBackCondemned(deps: GovernanceDeps): Promise<string | null> {
  const [due] = await deps.store.list("guardrail_due", { limit: 1 });
  if (!due) return null;
  const { tries: _, ...evidence } = due.value;
  try {
    await operate({ deps }, { change_id: due.id, operation: "rollback", by: POLICY_GUARDRAIL, evidence });
    return due.id;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Another process is at it: its outcome counts, and is no failure of this one.
    if (error.code !== "operation_in_progress") await countFailure(deps, due.id, error);
    return null;
  }
}

/** Nothing is due any more where somebody else has rolled the change back meanwhile. */
async function countFailure({ store, clock }: GovernanceDeps, changeId: string, error: AppError): Promise<void> {
  await store.transact(async (tx) => {
    const due = (await tx.get("guardrail_due", changeId))?.value;
    if (!due) return;
    const tries = (due.tries ?? 0) + 1;
    if (error.code !== "illegal_transition" && tries < TRIES)
      return tx.put("guardrail_due", changeId, { ...due, tries });
    tx.delete("guardrail_due", changeId);
    await addGrowth(tx, {
      at: new Date(clock.now()).toISOString(),
      kind: "guardrail",
      title: `The guardrail's rollback of ${changeId} is given up`,
      detail: error.message,
      ref: changeId,
    });
  });
}
