/** Random histories of many changes; the same seed gives the same history. */
import { type TestLog, seededFractions } from "./test_log.ts";

/** Appends the entries of a random history to a log; `between` is called after each step. */
export async function runRandomHistory(log: TestLog, seed: number, steps: number, between?: () => Promise<unknown>) {
  const random = seededFractions(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const chance = (probability: number): boolean => random() < probability;
  const pending: string[] = [];
  const approved: string[] = [];
  const applied: string[] = [];
  const take = (from: string[]): string => from.splice(Math.floor(random() * from.length), 1)[0]!;

  const actions: Record<string, () => Promise<unknown>> = {
    propose: async () => {
      const kpi = chance(0.7) ? pick(["csat", "incident_rate"]) : null;
      const minor = chance(0.2);
      const id = await log.propose({
        target: pick(["ui.banner", "crm.score", "crm.mail"]),
        proposer: pick(["pat", "llm:m", null]),
        rationale: chance(0.5) ? "because" : "",
        kpi,
        expected_delta_k: kpi && chance(0.7) ? random() / 10 : null,
        ...(minor ? { status: "approved" as const, approver: "policy:minor" } : {}),
      });
      (minor ? approved : pending).push(id);
    },
    approve: async () => {
      if (pending.length === 0) return;
      const id = take(pending);
      await log.approve(id, pick(["ana", "bo"]), chance(0.5) ? "ok" : "");
      approved.push(id);
    },
    deny: async () => {
      if (pending.length === 0) return;
      if (chance(0.3)) await log.deny(take(pending), "policy:expiry", "too late", "expired");
      else await log.deny(take(pending), "ana", "no", pick(["denied", "withdrawn"]));
    },
    apply: async () => {
      if (approved.length === 0) return;
      if (chance(0.2))
        await log.appendStep(pick(approved), "change_apply_failed", {
          status: "approved",
          stage: "apply",
          error: "no",
          host: "absent",
        });
      else {
        const id = take(approved);
        await log.apply(id);
        applied.push(id);
      }
    },
    rollback: async () => {
      if (applied.length === 0) return;
      const failed = { status: "applied", stage: "rollback", error: "no", host: "applied" };
      if (chance(0.2)) await log.appendStep(pick(applied), "change_rollback_failed", failed);
      else await log.rollBack(take(applied), pick(["ana", "policy:guardrail"]));
    },
    drift: async () => {
      if (applied.length > 0)
        await log.appendStep(pick(applied), "change_drifted", { status: "applied", state: "missing", host: "absent" });
    },
    feed: async () => {
      const evidence = {
        kpi: "incident_rate",
        action: "alert",
        baseline: 0.04,
        value: 0.06,
        regression: 0.02,
        change_id: pick([...applied, "none"]),
      };
      const tripped = chance(0.2) ? { tripped: [evidence] } : {};
      await log.feed({ csat: 3 + 2 * random(), ...(chance(0.5) ? { incident_rate: random() / 10 } : {}) }, tripped);
    },
    refused: () => log.append("proposal_refused", { code: "forbidden_target", target: "billing", proposer: "pat" }),
    days: async () => log.hours(chance(0.2) ? 24 * 31 : 40 * random()),
    cycle: () =>
      log.store.transact(async (tx) => {
        const { length } = (await tx.get("meta", "chain"))!.value;
        // Any number that grows with the log.
        const tick = Math.floor(length / 3);
        tx.put("ticks", String(length).padStart(16, "0"), { tick });
      }),
  };
  // A name that occurs several times is taken more often.
  const names =
    "propose propose propose approve approve approve deny apply apply rollback drift feed feed refused days cycle".split(
      " ",
    );
  for (let step = 0; step < steps; step++) {
    await actions[pick(names)]!();
    await between?.();
  }
}
