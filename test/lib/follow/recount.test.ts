/** What is counted as it happens equals what is counted afterwards, whatever happened. */
import { expect, test } from "vitest";
import type { Call } from "../../../lib/http/endpoint.ts";
import { admit } from "../../../lib/governance/submit_proposal.ts";
import { overdueOf } from "../../../lib/pulse/overdue.ts";
import { compareTallies } from "../../../lib/follow/recount.ts";
import { COUNTERS, totalTally } from "../../../lib/follow/tally.ts";
import { fails } from "../../support/scripted_adapter.ts";
import { pulse, type PulseService } from "../pulse/pulse_service.ts";

/** Numbers from 0 to 1 that are the same in every run. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const INTENT = {
  kpis: { csat: { baseline: 4, target: 5 }, incident_rate: { baseline: 0.04, target: 0.01 } },
  policy: {
    minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50 },
    required_approvers: { standard: 1, major: 2 },
    consent_ttl_hours: 200,
    guardrails: [{ kpi: "incident_rate", max_regression: 0.005, action: "rollback" }],
  },
};

/** One random step; most are refused by the state machine, as they should be. */
async function step(service: PulseService, random: () => number, changes: string[]): Promise<void> {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const some = (chance: number): boolean => random() < chance;
  const changeId = changes.length === 0 ? "none" : pick(changes.slice(-30));
  const target = pick(["ui.banner", "ui.colour", "crm.score", "crm.mail"]);
  const kinds: Record<string, () => Promise<unknown>> = {
    propose: async () => {
      const fields: Record<string, string | number | boolean> = { target, proposer: pick(["pat", "kim"]) };
      if (some(0.5)) Object.assign(fields, { rationale: "because" });
      if (some(0.6)) Object.assign(fields, { kpi: pick(["csat", "incident_rate"]), expected_delta_k: random() / 50 });
      if (some(0.4)) Object.assign(fields, { tier: "minor", affected_users: 5, risk: "low", reversible: true });
      else if (some(0.3)) Object.assign(fields, { tier: "major" });
      changes.push((await service.propose(fields)).change_id);
    },
    draft: async () => {
      const call = { deps: service.deps, person: undefined, idempotency: undefined } as unknown as Call;
      const draft = { tenant_id: "t1", kind: "config" as const, target, summary: "A draft", proposer: "llm:m" };
      changes.push(JSON.parse((await admit(call, draft)).text).change_id);
    },
    approve: () =>
      service.post("approve", { change_id: changeId, approver: pick(["ana", "bo"]), note: some(0.5) ? "ok" : "" }),
    deny: () => service.post("deny", { change_id: changeId, approver: "ana", note: some(0.5) ? "no" : "" }),
    withdraw: () => service.post("withdraw", { change_id: changeId, proposer: pick(["pat", "kim"]) }),
    apply: () => {
      if (some(0.3)) service.host.on(pick(["validate", "apply"]), fails("no"), 1);
      return service.act("apply", changeId);
    },
    rollback: () => {
      if (some(0.3)) service.host.on("rollback", fails("no"), 1);
      return service.act("rollback", changeId);
    },
    feed: () => service.post("kpi", { csat: 3 + 2 * random(), incident_rate: 0.05 * random() }),
    drift: async () =>
      void (some(0.5) ? service.host.host.delete(changeId) : service.host.host.set(changeId, "applied")),
    task: () => service.post("/api/tasks", { title: "t", priority: pick(["low", "normal", "high", "urgent"]) }),
    cycle: () => service.cycle(),
    hours: async () => service.hours(some(0.1) ? 24 * 11 : 30 * random()),
  };
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

/** By looking at everything. */
async function overdueByScan({ deps }: PulseService): Promise<Record<string, number>> {
  const now = deps.clock.now();
  const hours = { pending_changes: 24, tasks_urgent: 4, tasks_high: 24, tasks_normal: 72, tasks_low: 168 };
  const overdue: Record<string, number> = Object.fromEntries(Object.keys(hours).map((name) => [name, 0]));
  const late = (since: string, name: keyof typeof hours): number =>
    Number(now - Date.parse(since) > hours[name] * 3_600_000);
  for (const { value } of await deps.store.list("changes", { limit: 10_000 }))
    if (value.change.status === "pending_consent")
      overdue["pending_changes"]! += late(value.change.created_at, "pending_changes");
  for (const { value } of await deps.store.list("tasks", { limit: 10_000 }))
    if (value.task.status === "queued" || value.task.status === "running") {
      const name = `tasks_${value.task.priority as "low"}` as const;
      overdue[name]! += late(value.task.created_at, name);
    }
  return overdue;
}

const overdueAsKept = async ({ deps }: PulseService): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(
      (["pending_changes", "tasks_urgent", "tasks_high", "tasks_normal", "tasks_low"] as const).map(
        async (name) => [name, (await overdueOf(deps, name)).overdue] as const,
      ),
    ),
  );

test.each([1, 2, 3])("random history %i", async (seed) => {
  const service = await pulse({ intent: INTENT });
  const random = mulberry(seed);
  const changes: string[] = [];
  for (let done = 1; done <= 400; done++) {
    await step(service, random, changes);
    if (done % 20 === 0) expect(await overdueAsKept(service)).toEqual(await overdueByScan(service));
    if (done % 100 === 0) expect(await compareTallies(service.deps)).toEqual({ tallies_match: true, mismatches: [] });
  }
});

test("a history that leaves no counter at 0", async () => {
  const service = await pulse({ intent: INTENT });
  const random = mulberry(4);
  const changes: string[] = [];
  for (let done = 0; done < 1500; done++) await step(service, random, changes);
  service.hours(31 * 24);
  await service.cycle();
  const total = await totalTally(service.deps.store);
  expect(COUNTERS.filter((counter) => !total[counter])).toEqual([]);
  expect((await compareTallies(service.deps)).mismatches).toEqual([]);
});

test("a count that was tampered with is named", async () => {
  const service = await pulse({ intent: INTENT });
  await service.bring("rolled_back");
  const { store } = service.deps;
  await store.transact((tx) => tx.put("tally_days", "2026-01-02", { attempts: 2, attempts_failed: 1 }));
  const { tallies_match, mismatches } = await compareTallies(service.deps);
  expect(tallies_match).toBe(false);
  expect(mismatches).toContain("2026-01-02 attempts: kept 2, counted 1");
});
