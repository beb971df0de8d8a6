/** Rollouts without a target system: advances, holds, rollbacks and samples. */
import { describe, expect, test } from "vitest";
import { rebuildRecords } from "../../../../lib/changes/rebuild.ts";
import { reconcile } from "../../../../lib/changes/reconcile.ts";
import { decideRollouts } from "../../../../lib/changes/rollouts/decide_rollouts.ts";
import { readChangeDetail } from "../../../../lib/operations/change_views.ts";
import { PROPOSAL } from "../../../support/client.ts";
import { core, makeCore } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import { scriptedAdapter } from "../../../support/scripted_adapter.ts";
import {
  rolloutClient,
  AGENTS,
  AS_FEEDER,
  AS_OTHER,
  openRollout,
  sample,
  STAGES,
  totals,
} from "../../../support/rollouts.ts";

const toError = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

describe("a rollout", () => {
  test("is applied with the share of its first step", async () => {
    const { api, change_id, exposure, detail } = await openRollout();
    expect((await api.change(change_id)).status).toBe("applied");
    expect(await exposure()).toEqual({ step: 0, share: 1000, since: api.deps.clock.iso(), waits_for: "no_data" });
    expect(await detail("change_applied")).toMatchObject({ stage: { step: 0, share: 1000 } });
  });

  test("advances step by step to the full share", async () => {
    const { api, events, exposure, feedNow, passHours, detail, decide } = await openRollout();
    await feedNow();
    expect((await exposure())!.waits_for).toBe("min_hours");
    passHours(24);
    await feedNow();
    expect(await exposure()).toMatchObject({ step: 1, share: 5000, waits_for: "no_data" });
    const advanced = await detail("stage_advanced");
    expect(advanced).toMatchObject({ rule: "cs1", decision: "advance", reason: "budget", step: 0, to: 1, share: 5000 });
    expect(advanced).toMatchObject({ hours: 24, silent: 0, actor: "policy:stages" });
    expect(advanced.totals).toEqual([
      { ...sample(api), at: api.deps.clock.iso(), by: "agent:analytics", ...totals(100_000, 1000) },
    ]);
    expect(advanced.readings[0]).toMatchObject({ step: 0, kpi: "conversion", is_worse: false });
    passHours(24);
    await feedNow({ step: 1, ...totals(100_000, 5000) });
    expect(await exposure()).toEqual({ step: 2, share: 10_000, since: api.deps.clock.iso(), waits_for: null });
    expect(await decide()).toEqual({ advanced: [], rolled_back: [] });
    // The first three entries are the proposal, the consent and the apply.
    expect((await events()).slice(3)).toEqual(["stage_held", "stage_advanced", "stage_advanced"]);
    expect(await api.deps.store.list("samples", { limit: 1 })).toEqual([]);
  });

  test("is rolled back as soon as samples show a KPI worse than allowed", async () => {
    const { api, change_id, feedNow, detail, events } = await openRollout();
    // A tenth of 100,000 users are treated; 10 % of them succeed, and 20 % of the others. A loss of 0.05 is allowed.
    const result = await feedNow(totals(100_000, 1000, [0.1, 0.2]));
    expect(result).toEqual({ advanced: [], rolled_back: [change_id] });
    const change = await api.change(change_id);
    expect([change.status, change.exposure]).toEqual(["rolled_back", undefined]);
    expect(await detail("stage_stopped")).toMatchObject({ decision: "rollback", reason: "worse", kpi: "conversion" });
    expect((await events()).slice(3)).toEqual(["stage_stopped", "change_rolled_back"]);
    expect(await detail("change_rolled_back")).toMatchObject({ by: "policy:stages" });
  });

  test("is rolled back also while it is frozen and held by a person, and the clock is behind", async () => {
    const { api, change_id, act, feed, decide } = await openRollout();
    await act(0, "hold");
    await feed([sample(api, totals(100_000, 1000, [0.1, 0.2]))]);
    await api.post("freeze", { actor: "ana" });
    api.deps.clock.shift(-48 * 3600 * 1000);
    expect((await decide()).rolled_back).toEqual([change_id]);
  });

  test("is decided although the samples of another rollout are invalid", async () => {
    const { api, change_id, feed, decide } = await openRollout();
    const other = await api.bring("applied", { target: "ui.other", value: "1", stages: JSON.stringify(STAGES) });
    const rows = [sample(api, totals(100_000, 1000, [0.1, 0.2]))];
    expect((await feed(rows)).status).toBe(200);
    expect((await api.json("samples", { change_id: other, rows }, AS_FEEDER)).status).toBe(200);
    const [first, second] = [change_id, other].sort();
    const { store } = api.deps;
    const broken = (await store.get("samples", first!))!.value.rows.map((row) => ({
      ...row,
      treated: undefined as never,
    }));
    await store.transact(async (tx) => tx.put("samples", first!, { rows: broken }));
    expect((await decide()).rolled_back).toEqual([second]);
  });

  test("is decided after a restart with the samples from before", async () => {
    const { api, change_id, feed, passHours } = await openRollout();
    passHours(24);
    await feed([sample(api)]);
    const deps = await restartDeps(api.deps, { intent: { principals: AGENTS } });
    expect((await decideRollouts(deps)).advanced).toEqual([change_id]);
  });

  test("blocks applies of other changes of its target", async () => {
    const { api, change_id, passHours, feedNow } = await openRollout();
    const other = await api.bring("approved", { value: "1" });
    const { status, body } = await api.act("apply", other);
    expect([status, body.code, body.conflicts]).toEqual([409, "rollout_in_progress", [change_id]]);
    passHours(24);
    await feedNow();
    passHours(24);
    await feedNow({ step: 1, ...totals(100_000, 5000) });
    expect((await api.act("apply", other)).status).toBe(200);
  });

  test("blocks the apply of another change, whose value is checked first", async () => {
    const { api } = await openRollout({ proposal: { value: "10" } });
    const other = await api.bring("approved", { value: "14" });
    expect(toError(await api.act("apply", other))).toEqual([409, "rollout_in_progress"]);
    const targets = [{ match: ["ui.*"], schema: { type: "number", maximum: 9 } }];
    const later = makeCore(await restartDeps(api.deps, { intent: { principals: AGENTS, policy: { targets } } }));
    expect(toError(await later.act("apply", other))).toEqual([400, "value_not_allowed"]);
  });

  test("can be rolled back by a person", async () => {
    const { api, change_id, decide } = await openRollout();
    await api.must("rollback", change_id);
    expect((await api.change(change_id)).status).toBe("rolled_back");
    expect(await decide()).toEqual({ advanced: [], rolled_back: [] });
  });

  test("can be rebuilt from the log, with its index", async () => {
    const { api, change_id, exposure, act } = await openRollout();
    await act(0, "hold");
    const before = await exposure();
    const { store } = api.deps;
    const stored = (await store.get("changes", change_id))!.value;
    await store.transact(async (tx) => {
      tx.put("changes", change_id, { ...stored, rollout: { shares: [1] } });
      tx.delete("rollouts_running", change_id);
    });
    expect((await reconcile(api.deps)).mismatches).toEqual([{ change_id, fields: ["rollout"] }]);
    await rebuildRecords(api.deps);
    expect((await reconcile(api.deps)).mismatches).toEqual([]);
    expect(await exposure()).toEqual(before);
    expect(await store.get("rollouts_running", change_id)).toBeDefined();
  });
});

test("a rollout shows an estimate before its consent, and measured bounds while it runs", async () => {
  const { api, change_id, feedNow, passHours } = await openRollout({ stages: { users_a_day: 10_000 } });
  const readRollout = async (id = change_id) => (await readChangeDetail(api.deps, id)).rollout;
  const stages = JSON.stringify({ ...STAGES, users_a_day: 10_000 });
  const waiting = await api.bring("pending_consent", { value: "1", target: "ui.other", stages });
  // Users of a step: 10 · variance · (factor / allowed)² / share of the control, by the formula of `estimateSteps`. The variance of
  // a binary KPI is ¼ at most, and the factor of the step `budget` is the share of the next step.
  // 10 · ¼ · (0.5 / 0.05)² / 0.9 users at 1,000 a day, and 10 · ¼ · (1 / 0.05)² / 0.5 at 5,000.
  const estimate = [
    { users: 278, days: 1 },
    { users: 2000, days: 1 },
  ];
  expect(await readRollout(waiting)).toEqual({ estimate, measured: [] });
  passHours(24);
  const now = api.deps.clock.iso();
  await feedNow(totals(200, 1000));
  const bounds = { worse_at_least: expect.any(Number), worse_at_most: expect.any(Number) };
  const measurement = {
    step: 0,
    kpi: "conversion",
    as_of: now,
    treated_n: 20,
    control_n: 180,
    treated: 0.2,
    control: 0.2,
  };
  const running = (await readRollout())!;
  expect(running).toEqual({ estimate, measured: [{ ...measurement, ...bounds }], not_before: now, kpi: "conversion" });
  expect(running.measured[0]!.worse_at_least).toBeLessThan(0);
  expect(running.measured[0]!.worse_at_most).toBeGreaterThan(0.1);
  await feedNow(totals(100_000, 1000, [0.1, 0.2]));
  const ended = (await readRollout())!;
  expect(ended).not.toHaveProperty("not_before");
  expect(ended.measured[0]!.worse_at_least).toBeGreaterThan(0.05);
});

describe("a rollout is held", () => {
  test("while samples prove neither harm nor safety", async () => {
    const { feedNow, passHours, exposure } = await openRollout();
    passHours(24);
    await feedNow(totals(200, 1000));
    expect((await exposure())!.waits_for).toBe("not_yet");
  });

  test("without samples, and when the newest are too old", async () => {
    const { feedNow, passHours, exposure, decide, events } = await openRollout();
    await decide();
    expect((await events()).length).toBe(3);
    await feedNow();
    passHours(25);
    await decide();
    expect((await exposure())!.waits_for).toBe("no_data");
  });

  test("when as_of of the newest samples is too old, although they arrived just now", async () => {
    const { api, feedNow, passHours, exposure } = await openRollout();
    const as_of = api.deps.clock.iso();
    passHours(25);
    await feedNow({ as_of });
    expect((await exposure())!.waits_for).toBe("no_data");
  });

  test("while the counts of users do not match the share, until a person resumes it", async () => {
    const { api, feedNow, feed, passHours, exposure, act, detail } = await openRollout();
    await feedNow(totals(100_000, 900));
    expect((await exposure())!.waits_for).toBe("mismatch");
    passHours(24);
    await feedNow(totals(10_000_000, 1000));
    expect((await exposure())!.waits_for).toBe("mismatch");
    expect((await act(0, "resume")).status).toBe(200);
    expect((await detail("stage_resumed")).totals[0]).toMatchObject(totals(10_000_000, 1000));
    // Only samples since the resume count, and they prove nothing yet.
    await feedNow(totals(10_000_100, 1000));
    expect((await exposure())!.waits_for).toBe("not_yet");
    await feed([sample(api, totals(10_100_000, 1000))]);
    passHours(1);
    await feedNow(totals(10_100_000, 1000));
    expect((await exposure())!.step).toBe(1);
    expect(await detail("stage_advanced")).toMatchObject({ baseline: expect.any(Number) });
  });

  test("after impossible samples, which are logged, until valid ones arrive", async () => {
    const { api, feed, feedNow, exposure, detail, passHours, decide, events } = await openRollout();
    await feedNow();
    // A binary KPI cannot have more successes than users.
    const { n } = totals(100_000, 1000).treated;
    const { status, body } = await feed([sample(api, { treated: { n, sum: n + 1 } })]);
    expect([status, body.code]).toEqual([400, "impossible_sample"]);
    expect(await detail("stage_held")).toMatchObject({
      reason: "impossible_data",
      kpi: "conversion",
      actor: "agent:analytics",
    });
    expect((await exposure())!.waits_for).toBe("impossible_data");
    const count = (await events()).length;
    passHours(24);
    await feed([sample(api, { treated: { n, sum: n + 1 } })]);
    await decide();
    expect([(await exposure())!.step, (await events()).length]).toEqual([0, count]);
    await feedNow();
    expect((await exposure())!.step).toBe(1);
  });

  test("while the service is frozen", async () => {
    const { api, feedNow, passHours, exposure, decide } = await openRollout();
    await api.post("freeze", { actor: "ana" });
    passHours(24);
    await feedNow();
    expect((await exposure())!).toMatchObject({ step: 0, waits_for: "frozen" });
    await api.post("unfreeze", { actor: "ana" });
    await decide();
    expect((await exposure())!.step).toBe(1);
  });

  test("outside the windows of the intent", async () => {
    // The clock starts on 2026-01-02 at 03:04:05.
    const deny = [{ from: "2026-01-03T00:00:00Z", to: "2026-01-05T00:00:00Z", reason: "weekend" }];
    const { feedNow, passHours, exposure } = await openRollout({ policy: { windows: { deny } } });
    passHours(24);
    await feedNow();
    expect((await exposure())!).toMatchObject({ step: 0, waits_for: "outside_window" });
  });

  test("without a valid consent, which it names, until another consent is given", async () => {
    const { api, change_id, feed, passHours } = await openRollout({ policy: { approvers: ["ana", "bo"] } });
    passHours(24);
    await feed([sample(api)]);
    const intent = { principals: AGENTS, policy: { approvers: ["bo", "cleo"] } };
    const later = makeCore(await restartDeps(api.deps, { intent }));
    const { decide, detail, exposure } = rolloutClient(later, change_id);
    await decide();
    expect(await detail("stage_held")).toMatchObject({
      reason: "consent_incomplete",
      missing: [{ rule: "required_approvers", count: 1, of: ["bo", "cleo"] }],
    });
    expect((await later.change(change_id)).missing).toHaveLength(1);
    expect((await later.post("approve", { change_id, approver: "bo" })).status).toBe(200);
    expect((await later.change(change_id)).status).toBe("applied");
    await decide();
    expect((await exposure())!.step).toBe(1);
    expect(toError(await later.post("approve", { change_id, approver: "cleo" }))).toEqual([400, "illegal_transition"]);
  });

  test.each([
    ["forbidden_target", { forbidden_targets: ["ui.*"] }],
    ["value_not_allowed", { targets: [{ match: ["ui.*"], schema: { type: "string" } }] }],
    ["value_not_allowed", { stages: { targets: ["limits.*"] } }],
  ])("under a new intent with the code %s", async (code, policy) => {
    const { api, change_id, feed, passHours } = await openRollout();
    passHours(24);
    await feed([sample(api)]);
    const later = makeCore(await restartDeps(api.deps, { intent: { principals: AGENTS, policy } }));
    const { decide, exposure } = rolloutClient(later, change_id);
    await decide();
    expect((await exposure())!).toMatchObject({ step: 0, waits_for: code });
  });
});

describe("a person's action", () => {
  const MANUAL = { steps: [{ share: 1000, advance: "manual", min_hours: 24 }] };

  test("hold stops advances until a resume", async () => {
    const { act, passHours, feedNow, exposure, decide } = await openRollout();
    expect((await act(0, "hold")).status).toBe(200);
    passHours(24);
    await feedNow();
    expect((await exposure())!).toMatchObject({ step: 0, waits_for: "by_hand" });
    expect(toError(await act(0, "hold"))).toEqual([400, "illegal_transition"]);
    expect((await act(0, "resume")).status).toBe(200);
    await decide();
    expect((await exposure())!.step).toBe(1);
    expect(toError(await act(1, "resume"))).toEqual([400, "illegal_transition"]);
  });

  test("must name the current step; a hold may name an earlier one", async () => {
    const { act, passHours, feedNow } = await openRollout();
    passHours(24);
    await feedNow();
    expect(toError(await act(0, "resume"))).toEqual([400, "illegal_transition"]);
    expect(toError(await act(2, "hold"))).toEqual([400, "illegal_transition"]);
    expect((await act(0, "hold")).status).toBe(200);
  });

  test("advance is needed for a manual step, and is accepted after its minimum hours", async () => {
    const { act, passHours, feedNow, exposure, detail } = await openRollout({ stages: MANUAL });
    expect(toError(await act(0, "advance"))).toEqual([400, "illegal_transition"]);
    await feedNow();
    expect((await exposure())!.waits_for).toBe("manual");
    expect(toError(await act(0, "advance"))).toEqual([400, "illegal_transition"]);
    passHours(24);
    await feedNow();
    expect((await exposure())!.step).toBe(0);
    expect((await act(0, "advance")).status).toBe(200);
    expect((await exposure())!).toMatchObject({ step: 1, share: 10_000 });
    expect(await detail("stage_advanced")).toMatchObject({ reason: "manual", actor: "ana" });
  });

  test("advance is rejected for a step that is not manual", async () => {
    const { api, act, passHours, feed } = await openRollout();
    passHours(24);
    await feed([sample(api)]);
    expect(toError(await act(0, "advance"))).toEqual([400, "illegal_transition"]);
  });

  test("advance is rejected while the service is frozen", async () => {
    const { api, act, passHours, feedNow } = await openRollout({ stages: MANUAL });
    passHours(24);
    await feedNow();
    await api.post("freeze", { actor: "ana" });
    expect(toError(await act(0, "advance"))).toEqual([409, "frozen"]);
  });

  test("resume and advance are rejected for the proposer and for people who may not approve", async () => {
    const { api } = await openRollout();
    const approvers = ["ana", "bo"];
    const later = makeCore(
      await restartDeps(api.deps, { intent: { principals: AGENTS, policy: { approvers, self_approval: false } } }),
    );
    const stages = JSON.stringify({ ...STAGES, ...MANUAL });
    const change_id = await later.bring("applied", { value: "1", target: "ui.other", stages, proposer: "bo" });
    const { act } = rolloutClient(later, change_id);
    expect((await act(0, "hold", "bo")).status).toBe(200);
    expect(toError(await act(0, "resume", "cleo"))).toEqual([403, "not_an_approver"]);
    expect(toError(await act(0, "resume", "bo"))).toEqual([403, "self_approval_forbidden"]);
    // An action that the rollout does not allow is reported before missing permissions.
    for (const [step, action] of [
      [1, "resume"],
      [0, "hold"],
      [0, "advance"],
    ] as const)
      expect(toError(await act(step, action, "cleo")), action).toEqual([400, "illegal_transition"]);
    expect((await act(0, "resume", "ana")).status).toBe(200);
  });

  test("hold is allowed for people who may approve, freeze or roll back", async () => {
    // A hold needs one of the three permissions, and without a list anybody may freeze.
    const withoutFreezers = await openRollout({ policy: { approvers: ["ana"], permissions: { rollback: ["rob"] } } });
    expect((await withoutFreezers.act(0, "hold", "fred")).status).toBe(200);
    const permissions = { freeze: ["fred"], rollback: ["rob"] };
    const withBoth = await openRollout({ policy: { approvers: ["ana"], permissions } });
    expect(toError(await withBoth.act(0, "hold", "eve"))).toEqual([403, "not_permitted"]);
    expect((await withBoth.act(0, "hold", "ana")).status).toBe(200);
  });
});

test("a proposal with stages is rejected if its target system supports no splits", async () => {
  const api = await core({ adapter: scriptedAdapter(), intent: { principals: AGENTS } });
  const fields = { ...PROPOSAL, value: "true", stages: JSON.stringify(STAGES) };
  expect(toError(await api.post("propose", fields))).toEqual([400, "value_not_allowed"]);
});

describe("samples", () => {
  test("are accepted only from the agent that the plan names", async () => {
    const { api, feed } = await openRollout();
    expect(toError(await feed([sample(api)], AS_OTHER))).toEqual([403, "agent_may_not"]);
    expect(toError(await feed([sample(api)], {}))).toEqual([403, "agent_may_not"]);
    expect(await feed([sample(api)])).toMatchObject({ status: 200, body: { accepted: 1, step: 0 } });
  });

  test("have no effect when they are sent again", async () => {
    const { feedNow, events } = await openRollout();
    await feedNow();
    const before = await events();
    await feedNow();
    expect(await events()).toEqual(before);
  });

  // The clock shows 2026-01-02T03:04:05.
  test.each([
    ["of a step that is not reached", { step: 1 }],
    ["of a KPI that is not watched", { kpi: "revenue" }],
    ["with sums of another kind", { treated: { n: 1, sum: 1, sum2: 1 } }],
    ["more than five minutes ahead", { as_of: "2026-01-02T03:09:06.000Z" }],
  ])("%s are 400 invalid_field", async (_, fields) => {
    const { api, feed } = await openRollout();
    expect(toError(await feed([sample(api, fields)]))).toEqual([400, "invalid_field"]);
  });

  test("older than the newest ones, or repeated in one request, are 400 invalid_field", async () => {
    const { api, feed, passHours } = await openRollout();
    const as_of = api.deps.clock.iso();
    passHours(1);
    await feed([sample(api)]);
    expect(toError(await feed([sample(api, { as_of })]))).toEqual([400, "invalid_field"]);
    expect(toError(await feed([sample(api), sample(api)]))).toEqual([400, "invalid_field"]);
  });

  test("with over 1 % fewer users than earlier ones are 400 impossible_sample", async () => {
    const { api, feed } = await openRollout();
    expect((await feed([sample(api)])).status).toBe(200);
    expect((await feed([sample(api, totals(99_100, 1000))])).status).toBe(200);
    expect(toError(await feed([sample(api, totals(98_900, 1000))]))).toEqual([400, "impossible_sample"]);
  });

  test("of a change that is rolled back are 400 illegal_transition", async () => {
    const { api, change_id, feed } = await openRollout();
    await api.must("rollback", change_id);
    expect(toError(await feed([sample(api)]))).toEqual([400, "illegal_transition"]);
  });
});
