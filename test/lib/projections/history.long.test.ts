/** Random histories of a complete service: its projections match its log, and a rebuild stores the same rows. */
import { describe, expect, test } from "vitest";
import { projectAll, rebuild } from "../../../lib/projections/projector.ts";
import { readTotalCounts } from "../../../lib/projections/daily_counts.ts";
import type { Counter } from "../../../lib/projections/counts.ts";
import { verifyProjections } from "../../../lib/projections/verify.ts";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import { AGE_CLASSES, listOverdueItems } from "../../../lib/projections/overdue.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { openTestStore as openFile, temporaryFolder } from "../../local/store/open_test_store.ts";
import { fails } from "../../support/scripted_adapter.ts";
import { selectCases, LONG } from "../../support/run_length.ts";
import { openOperations, type OperationsService } from "../operations/operations_service.ts";
import { storedRows, seededFractions } from "./test_log.ts";

/** All counters: the type requires each of them. */
const COUNTERS = Object.keys({
  proposed: true,
  decided_approved: true,
  decided_denied: true,
  decided_withdrawn: true,
  decided_expired: true,
  decided_revoked: true,
  decided_lapsed: true,
  decided_minor: true,
  level_L1: true,
  level_L2: true,
  level_L3: true,
  level_L4: true,
  level_L5: true,
  level_unattributed: true,
  attempts: true,
  attempts_failed: true,
  attempts_apply_failed: true,
  attempts_rolled_back: true,
  attempts_drifted: true,
  rollbacks_person: true,
  rollbacks_guardrail: true,
  rollbacks_rollout: true,
  rollbacks_failed: true,
  closed: true,
  expected_items: true,
  present_items: true,
  late_items: true,
  missing_rationale: true,
  missing_decider: true,
  missing_note: true,
  missing_verdict: true,
  verdict_met: true,
  verdict_missed: true,
  verdict_regressed: true,
  verdict_inconclusive: true,
  verdict_too_early: true,
  drift_episodes: true,
  kpi_feeds: true,
} satisfies Record<Counter, true>) as Counter[];

const INTENT = {
  kpis: { csat: { baseline: 4, target: 5 }, incident_rate: { baseline: 0.04, target: 0.01 } },
  policy: {
    minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50 },
    required_approvers: { standard: 1, major: 2 },
    consent_ttl_hours: 200,
    approval_ttl_hours: 400,
    guardrails: [{ kpi: "incident_rate", max_regression: 0.005, action: "rollback" }],
  },
};

/** Takes one random step. The service rejects many steps, since the status of the change does not allow them. */
async function step(service: OperationsService, random: () => number, changes: string[]): Promise<void> {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const chance = (probability: number): boolean => random() < probability;
  const changeId = changes.length === 0 ? "none" : pick(changes.slice(-30));
  const target = pick(["ui.banner", "ui.colour", "crm.score", "crm.mail"]);
  const kinds: Record<string, () => Promise<unknown>> = {
    propose: async () => {
      const fields: Record<string, string | number | boolean> = { target, proposer: pick(["pat", "kim"]) };
      if (chance(0.5)) Object.assign(fields, { rationale: "because" });
      if (chance(0.6)) Object.assign(fields, { kpi: pick(["csat", "incident_rate"]), expected_delta_k: random() / 50 });
      if (chance(0.4)) Object.assign(fields, { tier: "minor", affected_users: 5, risk: "low", reversible: true });
      else if (chance(0.3)) Object.assign(fields, { tier: "major" });
      changes.push((await service.propose(fields)).change_id);
    },
    draft: async () => {
      const draft = { tenant_id: "t1", kind: "config", target, summary: "A draft", proposer: "llm:m" } as const;
      const filed = await submitDraft(service.deps, draft, { asked_by: null, message_id: "msg_1" });
      if ("change_id" in filed) changes.push(filed.change_id);
    },
    approve: () =>
      service.post("approve", { change_id: changeId, approver: pick(["ana", "bo"]), note: chance(0.5) ? "ok" : "" }),
    deny: () => service.post("deny", { change_id: changeId, approver: "ana", note: chance(0.5) ? "no" : "" }),
    withdraw: () => service.post("withdraw", { change_id: changeId, proposer: pick(["pat", "kim"]) }),
    revoke: () => service.post("revoke", { change_id: changeId, approver: "ana", note: "no longer" }),
    apply: () => {
      if (chance(0.3)) service.host.on(pick(["validate", "apply"]), fails("no"), 1);
      return service.act("apply", changeId);
    },
    rollback: () => {
      if (chance(0.3)) service.host.on("rollback", fails("no"), 1);
      return service.act("rollback", changeId);
    },
    feed: () => service.post("kpi", { csat: 3 + 2 * random(), incident_rate: 0.05 * random() }),
    drift: async () =>
      void (chance(0.5) ? service.host.host.delete(changeId) : service.host.host.set(changeId, "applied")),
    task: () => service.post("/api/tasks", { title: "t", priority: pick(["low", "normal", "high", "urgent"]) }),
    cycle: () => service.cycle(),
    // Eleven days are more than `consent_ttl_hours`, so pending changes expire.
    hours: async () => service.passHours(chance(0.1) ? 24 * 11 : 30 * random()),
  };
  // A name that occurs several times is taken more often.
  const names = [
    "propose",
    "propose",
    "propose",
    "draft",
    "approve",
    "approve",
    "approve",
    "approve",
    "deny",
    "withdraw",
    "revoke",
    "apply",
    "apply",
    "apply",
    "rollback",
    "feed",
    "drift",
    "task",
    "cycle",
    "hours",
    "hours",
  ];
  await kinds[pick(names)]!();
}

/** Counts overdue items by a scan of all changes and tasks. */
async function countOverdueByScan({ deps }: OperationsService): Promise<Record<string, number>> {
  const now = deps.clock.now();
  /** The time limits of `TIME_LIMITS`, as a second source. */
  const hours = {
    pending_changes: 24,
    approved_changes: 24,
    tasks_urgent: 4,
    tasks_high: 24,
    tasks_normal: 72,
    tasks_low: 168,
  };
  const overdue: Record<string, number> = Object.fromEntries(Object.keys(hours).map((name) => [name, 0]));
  const countIfOverdue = (since: string, name: keyof typeof hours): number =>
    Number(now - Date.parse(since) > hours[name] * 3_600_000);
  for (const { value } of await deps.store.list("changes", { limit: 10_000 }))
    if (value.change.status === "pending_consent")
      overdue["pending_changes"]! += countIfOverdue(value.change.created_at, "pending_changes");
    else if (value.change.status === "approved")
      overdue["approved_changes"]! += countIfOverdue(value.change.decided_at!, "approved_changes");
  for (const { value } of await deps.store.list("tasks", { limit: 10_000 }))
    if (value.task.status === "queued" || value.task.status === "running") {
      const name = `tasks_${value.task.priority as "low"}` as const;
      overdue[name]! += countIfOverdue(value.task.created_at, name);
    }
  return overdue;
}

const countOverdueListed = async ({ deps }: OperationsService): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(AGE_CLASSES.map(async (name) => [name, (await listOverdueItems(deps, name)).length] as const)),
  );

const STORES: Record<string, () => Promise<Store>> = {
  memory: async () => memoryStore(),
  file: async () => openFile(`${await temporaryFolder()}/state.json`),
};

describe.each(Object.keys(STORES))("on a %s store", (name) => {
  test.each(selectCases([1, 2, 3], 1))("random history %i", async (seed) => {
    const service = await openOperations({ intent: INTENT, store: await STORES[name]!() });
    const { deps } = service;
    const random = seededFractions(seed);
    const changes: string[] = [];
    for (let steps = 1; steps <= 300; steps++) {
      await step(service, random, changes);
      if (steps % 20 === 0) expect(await countOverdueListed(service)).toEqual(await countOverdueByScan(service));
      if (steps % 100 === 0) expect(await verifyProjections(deps)).toEqual({ tallies_match: true, mismatches: [] });
    }
    service.passHours(31 * 24);
    await projectAll(deps);
    const before = await storedRows(deps.store);
    const others = await Promise.all((["notices", "memories", "ticks", "audit"] as const).map(listAll(deps.store)));
    await rebuild(deps);
    expect(await storedRows(deps.store)).toEqual(before);
    expect(await Promise.all((["notices", "memories", "ticks", "audit"] as const).map(listAll(deps.store)))).toEqual(
      others,
    );
  });
});

const listAll = (store: Store) => (collection: "notices" | "memories" | "ticks" | "audit") =>
  store.list(collection, { limit: 10_000 });

if (LONG)
  test("a long history leaves every counter that its intent allows above 0", async () => {
    const service = await openOperations({ intent: INTENT });
    const random = seededFractions(7);
    const changes: string[] = [];
    for (let steps = 0; steps < 3000; steps++) await step(service, random, changes);
    const denied = await service.bring("denied");
    await service.post("note", { change_id: denied, actor: "ana", item: "rationale", note: "said late" });
    service.passHours(31 * 24);
    await service.cycle();
    const total = await readTotalCounts(service.deps);
    // These two stay at 0: the intent has no principals, and allows no rollouts.
    expect(COUNTERS.filter((counter) => !total[counter])).toEqual(["level_unattributed", "rollbacks_rollout"]);
    expect((await verifyProjections(service.deps)).mismatches).toEqual([]);
  });
