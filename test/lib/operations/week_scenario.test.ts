/** A scenario of one week, with figures computed by hand. */
import { beforeAll, describe, expect, test } from "vitest";
import { sampleClock } from "../../../lib/changes/confirmed_time.ts";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { testClock } from "../../support/clock.ts";
import { fails } from "../../support/scripted_adapter.ts";
import { filesInMemory, openOperations, type OperationsService } from "./operations_service.ts";

const INTENT = {
  kpis: {
    csat: { baseline: 4, target: 5, weight: 3 },
    incident_rate: { baseline: 0.04, target: 0.01, weight: 1 },
  },
  policy: {
    minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50 },
    consent_ttl_hours: 72,
    guardrails: [{ kpi: "incident_rate", max_regression: 0.02, action: "rollback" }],
  },
};

const files = filesInMemory();
const ids: Record<string, string> = {};
const states: Record<string, StateBody> = {};
let service: OperationsService;

// oxlint-disable-next-line typescript/no-explicit-any -- any JSON
type StateBody = any;

const state = async (): Promise<StateBody> => (await service.get("/api/state")).body;

/** Proposes and approves a change, with a note if there is one. */
async function proposeAndApprove(
  name: string,
  fields: Record<string, string | number>,
  note?: string,
): Promise<string> {
  const { change_id } = await service.propose({ proposer: "pat", ...fields });
  await service.post("approve", { change_id, approver: "ana", ...(note ? { note } : {}) });
  return (ids[name] = change_id);
}

beforeAll(async () => {
  service = await openOperations({ clock: testClock("2026-01-05T09:00:00.000Z"), intent: INTENT, evolved: files });
  const { host, passHours, cycle } = service;

  // Monday: A by humans, B by the intent's rule for minor changes; both are applied.
  await service.post("kpi", { csat: 4.2, incident_rate: 0.04 });
  await service.must(
    "apply",
    await proposeAndApprove(
      "A",
      { target: "crm.score", summary: "Score leads by fit", rationale: "r", kpi: "csat", expected_delta_k: 0.2 },
      "fine",
    ),
  );
  const minor = await service.propose({ tier: "minor", affected_users: 10, risk: "low", reversible: true });
  ids["B"] = minor.change_id;
  await service.must("apply", minor.change_id);
  await cycle();
  states["monday"] = await state();

  // Tuesday: C is applied at the third attempt, D is denied.
  passHours(24);
  await proposeAndApprove("C", {
    target: "crm.queue",
    summary: "Call hot leads first",
    rationale: "r",
    kpi: "csat",
    expected_delta_k: 0.5,
  });
  host.on("apply", fails("disk full"), 2);
  for (let attempt = 1; attempt <= 3; attempt++) await service.act("apply", ids["C"]!);
  ids["D"] = (await service.propose({ target: "crm.colour", summary: "Paint it blue" })).change_id;
  await service.post("deny", { change_id: ids["D"]!, approver: "bo", note: "not now" });

  // Wednesday: customers are happier; F is applied.
  passHours(24);
  await service.post("kpi", { csat: 4.5 });
  await service.must(
    "apply",
    await proposeAndApprove(
      "F",
      {
        target: "crm.retry",
        summary: "Retry three times",
        rationale: "r",
        kpi: "incident_rate",
        expected_delta_k: 0.01,
      },
      "go",
    ),
  );
  await cycle();
  states["wednesday"] = await state();

  // Thursday, 23 hours after F: more incidents, and the guardrail rolls F back. A model drafts G, a human edits it to H.
  passHours(23);
  await service.post("kpi", { incident_rate: 0.07 });
  await cycle();
  const draft = {
    tenant_id: "t1",
    kind: "config" as const,
    target: "crm.mail",
    summary: "Fewer mails",
    proposer: "llm:m" as const,
  };
  const filed = await submitDraft(service.deps, draft, { asked_by: "pat", message_id: "msg_1" });
  ids["G"] = (filed as Change).change_id;
  await service.must("approve", ids["G"]!);
  await proposeAndApprove("H", { target: "crm.mail", summary: "Fewer mails, but on Mondays" });

  // Friday: the host loses B; a task is done and rated; J begins to wait.
  passHours(25);
  host.host.delete(ids["B"]!);
  await service.post("/api/tasks", { title: "What failed?", required_dimension: "reliability", priority: "high" });
  await cycle();
  const task = (await service.get("/api/tasks")).body.tasks[0];
  states["task"] = task;
  await service.post("/api/task/feedback", { task_id: task.task_id, rating: 4, comment: "helps" });
  passHours(1);
  ids["J"] = (await service.propose({ target: "crm.wait", rationale: "r", summary: "Wait a day" })).change_id;

  // Saturday 09:00 and Sunday 09:30: I and K begin to wait. Sunday 10:00: the figures are read.
  passHours(23);
  ids["I"] = (await service.propose({ target: "crm.more", summary: "Ask for more" })).change_id;
  passHours(24.5);
  ids["K"] = (await service.propose({ target: "crm.last", summary: "Ask the last ones" })).change_id;
  passHours(0.5);
  await cycle();
  states["sunday"] = await state();
  states["trend"] = (await service.get("/api/l1l5_trend?days=7")).body;

  // Monday 10:30: J has waited for 72.5 hours and expires; the week's report is due.
  // A time counts as certain ten minutes after a clock sample.
  passHours(24.5 - 1 / 6);
  await sampleClock(service.deps);
  passHours(1 / 6);
  await cycle();
  states["next_monday"] = await state();

  // Wednesday, 11 February: all applied changes are closed, 30 days or more after their apply.
  passHours(30 * 24 - 1 / 6);
  await sampleClock(service.deps);
  passHours(1 / 6);
  await cycle();
  states["february"] = await state();
}, 30_000);

/** The attainment of a KPI is 0.5 at its baseline and 1 at its target; it is 0 as far below the baseline. */
describe("E", () => {
  test("Monday: csat (4.2 − 3) ÷ 2 = 0.6 thrice, incidents (0.04 − 0.07) ÷ −0.06 = 0.5 once", () => {
    expect(states["monday"].E).toBeCloseTo((3 * 0.6 + 0.5) / 4, 12);
  });
  test("Wednesday: csat (4.5 − 3) ÷ 2 = 0.75", () => {
    expect(states["wednesday"].E).toBeCloseTo((3 * 0.75 + 0.5) / 4, 12);
  });
  test("Sunday: incidents at their floor of 0.07 add nothing", () => {
    expect(states["sunday"].E).toBeCloseTo((3 * 0.75 + 0) / 4, 12);
    expect(states["sunday"].goals).toMatchObject([
      { kpi: "csat", current: 4.5, progress: 0.5, status: "under_way" },
      { kpi: "incident_rate", current: 0.07, status: "behind" },
    ]);
  });
});

describe("R", () => {
  test("six attempts (A, B, three of C, F), four failed: two of C, F rolled back, B drifted", () => {
    expect(states["sunday"].R).toBeCloseTo(1 - 4 / 6, 12);
    expect(states["sunday"].dimensions.R).toMatchObject({
      n: 6,
      failed: 4,
      causes: { adapter_failure: 2, rolled_back: 1, drifted: 1 },
      from: "2025-12-13",
      to: "2026-01-11",
    });
  });
  test("its interval is Wilson's for 2 of 6: 0.0968 to 0.7000", () => {
    const { low, high } = states["sunday"].dimensions.R.interval;
    expect(low).toBeCloseTo(0.0968, 4);
    expect(high).toBeCloseTo(0.7, 4);
  });
  test("in February nothing was attempted for 30 days: no data", () => {
    expect(states["february"].R).toBeNull();
    expect(states["february"].dimensions.R.interval).toBeNull();
  });
});

/** A closed change should have a rationale, a decider, a note unless it is minor, and a verdict if it was applied. */
describe("M", () => {
  test("Monday: nothing is closed, no data", () => expect(states["monday"].M).toBeNull());
  test("Sunday: D lacks its rationale (2 of 3), F is complete (4 of 4)", () => {
    expect(states["sunday"].M).toBeCloseTo(6 / 7, 12);
    expect(states["sunday"].dimensions.M).toMatchObject({
      closed: 2,
      expected: 7,
      present: 6,
      gaps: [{ change_id: ids["D"], missing: ["rationale"] }],
    });
  });
  test("Monday: J expired without decider and note (1 of 3); A 4 of 4, B 1 of 3 at their horizon", () => {
    expect(states["next_monday"].M).toBeCloseTo(12 / 17, 12);
    expect(states["next_monday"].dimensions.M.gaps[0]).toMatchObject({
      change_id: ids["J"],
      missing: ["decider", "note"],
    });
  });
  test("February: A 4 of 4, B (minor) 1 of 3, C 3 of 4, I and K expired 0 of 3 each: 15 of 27", () => {
    const { M, dimensions } = states["february"];
    expect(M).toBeCloseTo(15 / 27, 12);
    // Rationale: D, B, I, K. Decider: J, I, K. Note: C, J, I, K. Verdict: B, which names no KPI.
    expect(dimensions.M.missing).toEqual({ rationale: 4, decider: 3, note: 4, verdict: 1 });
  });
});

/** Weights: a change that waits 4, drift 8, a stale KPI 2. N is 0.5 at a weight of 8. */
describe("N", () => {
  test("Monday: nothing is open", () => expect(states["monday"].N).toBe(0));
  test("Sunday 10:00: I, J, G, H (unapplied for days) and B's drift are overdue, K (30 min) is not", () => {
    const weight = 4 + 4 + 2 * 4 + 8;
    expect(states["sunday"].N).toBe(weight / (weight + 8));
    expect(states["sunday"].dimensions.N.items).toEqual([
      { item: "pending_changes", open: 3, overdue: 2 },
      { item: "approved_changes", open: 2, overdue: 2 },
      { item: "drift", open: 1, overdue: 1 },
    ]);
  });
  test("February: G and H, B's drift and two stale KPIs are overdue", () => {
    const weight = 2 * 4 + 8 + 2 * 2;
    expect(states["february"].N).toBe(weight / (weight + 8));
    expect(states["february"].dimensions.N.items).toEqual([
      { item: "approved_changes", open: 2, overdue: 2 },
      { item: "drift", open: 1, overdue: 1 },
      { item: "stale_kpis", open: 2, overdue: 2 },
    ]);
  });
});

test("outcomes: A gained 0.3 of 0.2, C 0.3 of 0.5, F lost 0.03, B names no KPI", async () => {
  const { outcomes } = (await service.get("outcomes")).body;
  const of = (name: string) => outcomes.find(({ change_id }: { change_id: string }) => change_id === ids[name]);
  expect(of("A")).toMatchObject({ verdict: "met", realised_delta: 0.3, state: "final", ended_by: "horizon" });
  expect(of("C")).toMatchObject({ verdict: "missed", realised_delta: 0.3, ended_by: "horizon" });
  expect(of("F")).toMatchObject({ verdict: "regressed", realised_delta: -0.03, ended_by: "guardrail" });
  expect(of("B")).toMatchObject({ verdict: "inconclusive", ended_by: "horizon" });
});

test("levels: A, C, D, F people; H edited draft; G draft; B and F's rollback rules; B's drift", () => {
  // One digit for each level, from L1 to L5.
  const days = Object.fromEntries(
    states["trend"].points.map(({ date, unattributed: _, ...counts }: { date: string; unattributed: number }) => [
      date,
      Object.values(counts).join(""),
    ]),
  );
  expect(days).toEqual({
    "2026-01-05": "10010",
    "2026-01-06": "20000",
    "2026-01-07": "10000",
    "2026-01-08": "01110",
    "2026-01-09": "00001",
    "2026-01-10": "00000",
    "2026-01-11": "00000",
  });
  expect(states["trend"].totals).toEqual({ L1: 4, L2: 1, L3: 1, L4: 2, L5: 1, unattributed: 0 });
});

test("the task's report lists the failures from the audit log; its rating shows in the state", () => {
  const { task } = states;
  expect(task).toMatchObject({ status: "completed", required_dimension: "R", mode: "rules" });
  expect(task.result).toContain("of 6 applies attempted");
  expect(task.result).toContain(`[“Call hot leads first”](#/changes/${ids["C"]}): apply failed in apply: “disk full”`);
  expect(task.result).toContain(
    `(#/changes/${ids["F"]}): rolled back by a guardrail of the intent: incident_rate rose by 0.03 (worse)`,
  );
  expect(task.result).toContain(
    `(#/changes/${ids["B"]}): changed outside Countersign, the host product shows nothing of it`,
  );
  expect(states["sunday"].tasks).toEqual({ queued: 0, running: 0, completed: 1, failed: 0, rated: 1, mean_rating: 4 });
});

/** A file with the names used here in place of ids. */
function named(file: string): string {
  let text = files.texts.get(file)!;
  for (const [name, id] of Object.entries(ids)) text = text.replaceAll(id, name);
  return text;
}

test("the weekly report has movements, events with reasons, pending changes and due work", () => {
  expect(named("report-2026-W02.md")).toBe(`# Week 2026-W02 (2026-01-05 to 2026-01-11, UTC)

The effect E is 0.563; before this week there was none. **Worse:** incident_rate rose by 0.03 (worse) to 0.07, after [“Retry three times”](#/changes/F) (rolled back since). Better: csat rose by 0.3 (better) to 4.5, after [“Call hot leads first”](#/changes/C) and [“Score leads by fit”](#/changes/A).

## Applied

- t1: [“Show the banner”](#/changes/B), [“Score leads by fit”](#/changes/A), [“Call hot leads first”](#/changes/C), [“Retry three times”](#/changes/F) (rolled back since)

## Rolled back or denied

- [“Retry three times”](#/changes/F): rolled back by a guardrail of the intent: incident_rate rose by 0.03 (worse)
- [“Paint it blue”](#/changes/D): denied by bo: “not now”

## Waiting since this week, as of 2026-01-12 10:30

- [“Ask for more”](#/changes/I) waits for the consent of 1 person, until 2026-01-13 09:00
- [“Ask the last ones”](#/changes/K) waits for the consent of 1 person, until 2026-01-14 09:30
- [“Fewer mails”](#/changes/G) waits to be applied
- [“Fewer mails, but on Mondays”](#/changes/H) waits to be applied
- [“Show the banner”](#/changes/B) waits for a restore or rollback: the host product shows nothing of it

## Promises decided (a correlation, not a cause)

- [“Retry three times”](#/changes/F): **regressed**. incident_rate: expected to fall by 0.01, it rose by 0.03 (worse), a KPI of the whole product.

## Due within seven days

- 2026-01-13 09:00 [“Call hot leads first”](#/changes/C): its promise on csat is judged
`);
});

test("the report of a week without events does not repeat earlier ones", () => {
  expect(named("report-2026-W06.md")).toBe(`# Week 2026-W06 (2026-02-02 to 2026-02-08, UTC)

The effect E stayed at 0.563. No KPI was fed. None is known to have got better or worse.

## Applied

Nothing.

## Rolled back or denied

Nothing.

## Waiting since this week, as of 2026-02-11 10:30

- 3 changes wait as before this week

## Promises decided (a correlation, not a cause)

Nothing.

## Due within seven days

Nothing.
`);
});

test("each closed change has its retrospective, which lists what is not on record", () => {
  const retrospectives = [...files.texts.keys()].filter((name) => name.startsWith("retrospective-"));
  expect(retrospectives.sort()).toEqual(
    ["A", "B", "C", "D", "F", "I", "J", "K"].map((name) => `retrospective-${ids[name]}.md`).sort(),
  );
  expect(files.texts.get(`retrospective-${ids["A"]}.md`)).toContain("Everything that should be on record is.");
  const c = files.texts.get(`retrospective-${ids["C"]}.md`)!;
  expect(c).toContain(
    "Verdict: missed. csat: expected to rise by 0.5, it rose by 0.3 (better), shared with 1 other, a KPI of the whole product.",
  );
  expect(c).toContain("2 operations failed on the way");
  expect(c).toContain("Not on record: note.");
});

test("the growth log reports each verdict once, and none where no KPI is named", async () => {
  const { entries } = (await service.get("/api/log?kind=outcome&limit=500")).body;
  const said = entries.map(({ title, ref }: { title: string; ref: string }) => [ref, title]).reverse();
  const verdict = (of: string, word: string) => [
    ids[of],
    expect.stringMatching(new RegExp(`^The outcome of “.+” \\(\\S+ for tenant \\S+\\) is final: ${word}$`)),
  ];
  expect(said).toEqual([verdict("F", "regressed"), verdict("A", "met"), verdict("C", "missed")]);
});

test("the lists of work in progress are empty at the end", async () => {
  for (const view of ["outcomes_due", "guardrail_due", "leases"] as const)
    expect(await service.deps.store.list(view, { limit: 10 }), view).toEqual([]);
});

test("all counts match those computed again from the log", async () => {
  const { result } = (await service.post("/api/action/run-now", { action: "verify_audit" })).body;
  expect(result).toMatchObject({ valid: true, tallies_match: true, mismatches: [] });
});
