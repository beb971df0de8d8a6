/** The cycle: what time alone makes due. Serialised; it applies nothing to the host but a guardrail rollback. */
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import { checkDrift } from "../governance/drift.ts";
import { expireDue } from "../governance/expire_due.ts";
import { closeDueOutcomes } from "../governance/close_outcomes.ts";
import { operate } from "../governance/operate.ts";
import type { GuardrailEvidence } from "../governance/records.ts";
import { resolveAbandoned } from "../governance/resolve.ts";
import { forgetOldAnswers } from "../http/idempotency.ts";
import { addGrowth } from "./growth_log.ts";

/** What a cycle did. */
export interface CycleReport {
  tick: number;
  expired: number;
  resolved: number;
  rolled_back: string | null;
  outcomes_closed: number;
}

/** The name under which the intent's guardrails roll back. */
export const POLICY_GUARDRAIL = "policy:guardrail";
const GUARDRAIL_TRIES = 5;

/** Runs one cycle after those already asked for. */
export function runCycle(deps: Deps): Promise<CycleReport> {
  return deps.turns("cycle", async () => {
    const due = deps.product && !deps.integrity.breach;
    const expired = due ? await expireDue(deps) : 0;
    const resolved = due ? await resolveAbandoned(deps) : 0;
    const rolledBack = due ? await rollBackOne(deps) : null;
    const closed = due ? await closeDueOutcomes(deps) : 0;
    if (due) await checkDrift(deps);
    const tick = await deps.store.transact(async (tx) => {
      await forgetOldAnswers(tx, deps.clock.now());
      const next = ((await tx.get<{ tick: number }>("meta", "tick"))?.value.tick ?? 0) + 1;
      tx.put("meta", "tick", { tick: next, at: new Date(deps.clock.now()).toISOString() });
      return next;
    });
    return { tick, expired, resolved, rolled_back: rolledBack, outcomes_closed: closed };
  });
}

/** Rolls back the oldest change that a guardrail condemned; one a cycle, five tries. */
async function rollBackOne(deps: Deps): Promise<string | null> {
  const [due] = await deps.store.list<GuardrailEvidence & { tries?: number }>("guardrail_due", { limit: 1 });
  if (!due) return null;
  const { tries = 0, ...evidence } = due.value;
  try {
    await operate({ deps }, { change_id: due.id, operation: "rollback", by: POLICY_GUARDRAIL, evidence });
    return due.id;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const given = error.code !== "illegal_transition" && tries + 1 < GUARDRAIL_TRIES;
    await deps.store.transact(async (tx) => {
      if (given) return tx.put("guardrail_due", due.id, { ...evidence, tries: tries + 1 });
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
