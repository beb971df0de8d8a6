/** Automatic applies: once a change is approved, or at a scheduled time. */
import { describe, expect, test } from "vitest";
import { applyDue } from "../../../lib/changes/automatic_apply.ts";
import { endAutomation } from "../../../lib/changes/end_automation.ts";
import { readLease } from "../../../lib/changes/operations/lease.ts";
import { rebuildRecords } from "../../../lib/changes/rebuild.ts";
import { reconcile } from "../../../lib/changes/reconcile.ts";
import { readRecord } from "../../../lib/changes/records.ts";
import { runTransaction } from "../../../lib/changes/transaction.ts";
import { listUnconsented } from "../../../lib/changes/unconsented_changes.ts";
import { DAY, HOUR, MINUTE, START } from "../../support/clock.ts";
import { core, makeCore } from "../../support/core.ts";
import { restartDeps, type TestOptions } from "../../support/deps.ts";
import { passkey } from "../../support/passkeys.ts";
import { makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { decide, person, requestStatement } from "../../support/signed.ts";

const FIELDS = { tenant_id: "t1", kind: "config", target: "ui.b", summary: "Set it" };
const ALL_MODES = { apply_when: ["manual", "approved", "scheduled"] };
/** Returns the time that many milliseconds after the start of the test clock. */
const afterStart = (ms: number): string => new Date(Date.parse(START) + ms).toISOString();

/** Opens a service whose intent allows automatic applies, with functions to read its changes and to run passes. */
async function coreWithAutomation(policy: object = {}, options: TestOptions = {}) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, ...options, intent: { policy: { ...ALL_MODES, ...policy }, ...options.intent } });
  const status = async (id: string) => (await readRecord(api.deps.store, id))!.change.status;
  const change = async (id: string) => (await readRecord(api.deps.store, id))!.change;
  const events = async (id: string) =>
    (await api.audit()).filter(({ change_id }) => change_id === id).map(({ event_type }) => event_type);
  /** Advances the clock and runs one pass of automatic applies. */
  const runPass = async (ms = 0) => {
    api.deps.clock.advance(ms);
    await applyDue(api.deps);
  };
  /** Runs a pass, and another ten minutes later. */
  const runTwoPasses = async (ms = 0) => {
    await runPass(ms);
    await runPass(10 * MINUTE);
  };
  const bringApproved = (fields: object = {}) =>
    api.bring("approved", { apply_when: "approved", value: "1", ...fields });
  return { api, adapter, status, change, events, runPass, runTwoPasses, bringApproved };
}
const toError = ({ status, body }: { status: number; body: { code?: string; fields?: { message: string }[] } }) => [
  status,
  body.code,
  body.fields?.[0]?.message,
];

describe("a proposal", () => {
  test("is manual by default, and manual is the same as absent", async () => {
    const { api } = await coreWithAutomation();
    const [withoutMode, manual, approved] = [
      await api.propose(),
      await api.propose({ apply_when: "manual" }),
      await api.propose({ apply_when: "approved" }),
    ];
    expect([withoutMode.apply_when, manual.apply_when]).toEqual([undefined, undefined]);
    expect(manual.digest).toBe(withoutMode.digest);
    expect([approved.apply_when, approved.digest === withoutMode.digest]).toEqual(["approved", false]);
    const entry = JSON.parse(approved.audit_entry.detail);
    expect(entry.apply_when).toBe("approved");
  });

  test("may use only what the intent lists, by default manual", async () => {
    const api = await core();
    const { body, status } = await api.post("propose", { ...FIELDS, apply_when: "approved" });
    expect([status, body.code]).toEqual([400, "invalid_field"]);
    expect((await api.post("propose", { ...FIELDS, apply_when: "manual" })).status).toBe(201);
    const withoutSchedule = await core({ intent: { policy: { apply_when: ["manual", "approved"] } } });
    expect(toError(await withoutSchedule.post("propose", { ...FIELDS, apply_when: afterStart(HOUR) }))).toEqual([
      400,
      "invalid_field",
      "scheduled is not listed in the intent's policy.apply_when",
    ]);
  });

  test("must state a known mode or a future time, which is stored in UTC", async () => {
    const { api } = await coreWithAutomation();
    const offset = await api.propose({ apply_when: "2026-01-03T10:00:00+02:00" });
    expect(offset.apply_when).toBe("2026-01-03T08:00:00.000Z");
    for (const apply_when of [afterStart(-1), afterStart(0), "soon", "2026-01-03", "aproved", ""])
      expect(await api.post("propose", { ...FIELDS, apply_when })).toMatchObject({
        status: 400,
        body: { code: "invalid_field", fields: [{ field: "apply_when" }] },
      });
  });

  test("is rejected with a time after the deadlines of the intent", async () => {
    const limits = { consent_ttl_hours: 2, approval_ttl_hours: 3 };
    const { api } = await coreWithAutomation(limits);
    expect((await api.post("propose", { ...FIELDS, apply_when: afterStart(5 * HOUR) })).status).toBe(201);
    expect((await api.post("propose", { ...FIELDS, apply_when: afterStart(5 * HOUR + 1) })).status).toBe(400);
    const consentOnly = await coreWithAutomation({ consent_ttl_hours: 2 });
    expect((await consentOnly.api.post("propose", { ...FIELDS, apply_when: afterStart(2 * HOUR + 1) })).status).toBe(
      400,
    );
    const unlimited = await coreWithAutomation();
    expect((await unlimited.api.post("propose", { ...FIELDS, apply_when: afterStart(400 * DAY) })).status).toBe(201);
  });

  test("is minor only if policy.minor.apply_when is true; otherwise tier_reason says why", async () => {
    const minor = { kinds: ["config"], targets: ["ui.*"] };
    const minorFields = { tier: "minor", affected_users: 1, risk: "low", reversible: true, apply_when: "approved" };
    const strict = await coreWithAutomation({ minor });
    expect(await strict.api.propose(minorFields)).toMatchObject({
      tier: "standard",
      tier_reason: "It is not minor: the intent lets no change that applies by itself be minor.",
    });
    expect(await strict.api.propose({ ...minorFields, apply_when: "manual" })).toMatchObject({ tier: "minor" });
    const { api, runPass, status } = await coreWithAutomation({ minor: { ...minor, apply_when: true } });
    const { change_id, tier } = await api.propose(minorFields);
    await runPass();
    expect([tier, await status(change_id)]).toEqual(["minor", "applied"]);
  });
});

describe("the service applies a change", () => {
  test("once its last consent is given, as policy:apply_when, with the usual entry", async () => {
    const { api, adapter, runPass, status, events } = await coreWithAutomation({ required_approvers: { standard: 2 } });
    const { change_id } = await api.propose({ apply_when: "approved", value: "1" });
    await api.post("approve", { change_id, approver: "ana" });
    await runPass();
    expect(await status(change_id)).toBe("pending_consent");
    await api.post("approve", { change_id, approver: "bo" });
    await runPass();
    expect(await events(change_id)).toEqual([
      "change_proposed",
      "consent_decision",
      "consent_decision",
      "change_applied",
    ]);
    const applied = (await api.audit()).at(-1)!;
    expect(JSON.parse(applied.detail)).toMatchObject({
      actor: "policy:apply_when",
      authenticated: null,
      by: "policy:apply_when",
      status: "applied",
    });
    await runPass();
    expect(adapter.calls.filter((step) => step === "apply")).toHaveLength(1);
  });

  test("at its time, once two clock samples ten minutes apart show it passed", async () => {
    const { api, status, runPass, bringApproved } = await coreWithAutomation();
    const change_id = await bringApproved({ apply_when: afterStart(HOUR) });
    await runPass(HOUR - 1);
    expect(await status(change_id)).toBe("approved");
    // The sample at the scheduled time counts, although the one before it is only a millisecond older.
    await runPass(1);
    await runPass(10 * MINUTE - 1);
    expect(await status(change_id)).toBe("approved");
    await runPass(1);
    expect(await status(change_id)).toBe("applied");
    expect((await api.get(`audit?change_id=${change_id}`)).body.entries).toHaveLength(3);
  });

  test("never without apply_when, even if the index of due applies has a row for it", async () => {
    const { api, status, runPass } = await coreWithAutomation();
    const change_id = await api.bring("approved", { value: "1" });
    await api.deps.store.transact(async (tx) => tx.put("applies_due", `${afterStart(0)}\n${change_id}`, true));
    await runPass(DAY);
    expect(await status(change_id)).toBe("approved");
  });

  test("when it is due, while a later change still waits", async () => {
    const { api, runPass, status, bringApproved } = await coreWithAutomation();
    const laterChange = await bringApproved({ target: "ui.c", apply_when: afterStart(2 * DAY) });
    const dueChange = await bringApproved({ target: "ui.d" });
    await runPass();
    expect([await status(dueChange), await status(laterChange)]).toEqual(["applied", "approved"]);
    await api.must("apply", laterChange);
    expect(await status(laterChange)).toBe("applied");
  });

  test("once when two passes run concurrently", async () => {
    const { api, adapter, bringApproved } = await coreWithAutomation();
    await bringApproved();
    const passes = await Promise.all([applyDue(api.deps), applyDue(api.deps)]);
    expect(passes.map(({ applied }) => applied)).toEqual([1, 0]);
    expect(adapter.calls.filter((step) => step === "apply")).toHaveLength(1);
  });
});

describe("an automatic apply is postponed", () => {
  test("by a freeze until it is lifted", async () => {
    const { api, status, runPass, bringApproved, events } = await coreWithAutomation();
    await api.post("freeze", { actor: "ops" });
    const change_id = await bringApproved();
    await runPass(23 * HOUR);
    expect(await status(change_id)).toBe("approved");
    await api.post("unfreeze", { actor: "ops" });
    await runPass();
    expect(await status(change_id)).toBe("applied");
    expect(await events(change_id)).not.toContain("automation_stopped");
  });

  test("by a window until it opens", async () => {
    const deny = [{ from: afterStart(-HOUR), to: afterStart(5 * HOUR), reason: "Launch" }];
    const { status, runPass, bringApproved } = await coreWithAutomation({ windows: { deny } });
    const change_id = await bringApproved();
    await runPass(5 * HOUR - 1);
    expect(await status(change_id)).toBe("approved");
    await runPass(1);
    expect(await status(change_id)).toBe("applied");
  });

  test("by another operation on the target until it ends", async () => {
    const { api, adapter, status, runPass, bringApproved } = await coreWithAutomation();
    const other = await api.bring("approved", { value: "0", target: "ui.b" });
    const [applyBegan, mayEnd] = [makeBarrier(), makeBarrier()];
    adapter.on("apply", () => (applyBegan.open(), mayEnd.opened), 1);
    const running = api.act("apply", other);
    await applyBegan.opened;
    const change_id = await bringApproved({ target: "ui.b" });
    await runPass();
    expect(await status(change_id)).toBe("approved");
    mayEnd.open();
    await running;
    await runPass(MINUTE);
    expect(await status(change_id)).toBe("applied");
  });

  test("for at most 24 hours; then its automation is stopped and a person must apply it", async () => {
    const { api, status, runPass, bringApproved, events, change } = await coreWithAutomation();
    await api.post("freeze", { actor: "ops" });
    const change_id = await bringApproved();
    await runPass(DAY);
    expect(await events(change_id)).not.toContain("automation_stopped");
    await runPass(1);
    await api.post("unfreeze", { actor: "ops" });
    await runPass(1);
    // The deadline has passed by one clock sample only, so nothing happens yet.
    expect([await status(change_id), (await change(change_id)).automation_stopped]).toEqual(["approved", undefined]);
    await runPass(10 * MINUTE);
    const stopped = (await api.audit()).at(-1)!;
    expect(stopped).toMatchObject({ event_type: "automation_stopped", change_id, tenant: "t1" });
    expect(JSON.parse(stopped.detail)).toMatchObject({
      status: "approved",
      code: "postponed_too_long",
      actor: "policy:apply_when",
      authenticated: null,
      digest: (await change(change_id)).digest,
    });
    expect((await api.change(change_id)).gates).toContainEqual({
      gate: "automation_stopped",
      state: "warn",
      message: expect.stringContaining("more than 24 hours"),
    });
    await runPass(DAY);
    expect(await status(change_id)).toBe("approved");
    await api.must("apply", change_id);
    expect(await status(change_id)).toBe("applied");
  });
});

describe("the automation of a change ends", () => {
  test("with a consent after its scheduled time", async () => {
    const { api, runTwoPasses, status, events } = await coreWithAutomation({ required_approvers: { standard: 2 } });
    const { change_id } = await api.propose({ apply_when: afterStart(HOUR), value: "1" });
    await api.post("approve", { change_id, approver: "ana" });
    api.deps.clock.advance(HOUR);
    const headers = { "idempotency-key": "late" };
    const late = await api.post("approve", { change_id, approver: "bo" }, headers);
    expect(late.body).toMatchObject({
      status: "approved",
      change: { automation_stopped: { reason: expect.stringContaining("after the time") } },
      audit_entry: { event_type: "consent_decision" },
    });
    expect((await api.post("approve", { change_id, approver: "bo" }, headers)).text).toBe(late.text);
    await runTwoPasses();
    expect(await status(change_id)).toBe("approved");
    expect((await events(change_id)).slice(2)).toEqual(["automation_stopped", "consent_decision"]);
  });

  test("but not with a consent one millisecond before its scheduled time", async () => {
    const { api, runTwoPasses, status } = await coreWithAutomation();
    const { change_id } = await api.propose({ apply_when: afterStart(HOUR), value: "1" });
    api.deps.clock.advance(HOUR - 1);
    await api.post("approve", { change_id, approver: "ana" });
    await runTwoPasses(1);
    expect(await status(change_id)).toBe("applied");
  });

  test("with a rejection by the adapter, whose reason the entry contains", async () => {
    const { api, adapter, runTwoPasses, status, bringApproved } = await coreWithAutomation();
    adapter.on("validate", () => ({ ok: false, reason: "the flag is archived" }));
    const change_id = await bringApproved();
    await runTwoPasses();
    expect(await status(change_id)).toBe("approved");
    const stopped = (await api.audit()).at(-1)!;
    expect(JSON.parse(stopped.detail)).toMatchObject({
      code: "adapter_rejected",
      reason: expect.stringContaining("the flag is archived"),
    });
    adapter.removeScripts();
    await runTwoPasses();
    expect(await status(change_id)).toBe("approved");
  });

  test("with a failing apply, which is not repeated", async () => {
    const { adapter, runTwoPasses, bringApproved, events } = await coreWithAutomation();
    adapter.on("apply", () => Promise.reject(new Error("out of disk")));
    const change_id = await bringApproved();
    await runTwoPasses();
    expect((await events(change_id)).slice(2)).toEqual(["change_apply_failed", "automation_stopped"]);
  });

  test("with a target that moved since its consent, under on_stale: block", async () => {
    const { api, runTwoPasses, change, bringApproved } = await coreWithAutomation({ on_stale: "block" });
    const scheduled = await bringApproved({ apply_when: afterStart(HOUR) });
    // Another change of `ui.banner`, the target of every proposal that names none.
    await api.bring("applied", { value: "2", target: "ui.banner" });
    await runTwoPasses(HOUR);
    expect(await change(scheduled)).toMatchObject({
      status: "approved",
      automation_stopped: { reason: expect.stringContaining("the target holds") },
    });
  });

  test("with an intent that no longer lists its apply_when", async () => {
    const { api, bringApproved } = await coreWithAutomation();
    const change_id = await bringApproved({ apply_when: afterStart(HOUR) });
    const deps = await restartDeps(api.deps, { intent: { policy: { apply_when: ["manual", "approved"] } } });
    deps.clock.advance(HOUR);
    await applyDue(deps);
    deps.clock.advance(10 * MINUTE);
    await applyDue(deps);
    const { status, automation_stopped } = (await readRecord(deps.store, change_id))!.change;
    expect([status, automation_stopped?.reason]).toEqual([
      "approved",
      "the intent's policy.apply_when does not list scheduled any more",
    ]);
  });

  test("with consents that no longer count under the current intent", async () => {
    const { api, bringApproved } = await coreWithAutomation();
    const change_id = await bringApproved({ apply_when: afterStart(HOUR) });
    expect(await listUnconsented(api.deps)).toEqual([]);
    const deps = await restartDeps(api.deps, { intent: { policy: { ...ALL_MODES, approvers: ["bo"] } } });
    expect(await listUnconsented(deps)).toEqual([
      { change_id, reason: expect.stringMatching(/^consents are missing under today's intent: 1 more for/) },
    ]);
    deps.clock.advance(HOUR);
    await applyDue(deps);
    deps.clock.advance(10 * MINUTE);
    await applyDue(deps);
    const last = (await makeCore(deps).audit()).at(-1)!;
    expect([last.event_type, JSON.parse(last.detail).code]).toEqual(["automation_stopped", "consent_incomplete"]);
    expect((await readRecord(deps.store, change_id))!.change.status).toBe("approved");
  });

  test("once, and without an entry for a revoked change", async () => {
    const { api, runPass, bringApproved, events } = await coreWithAutomation();
    const change_id = await bringApproved({ apply_when: afterStart(DAY) });
    const end = { code: "test", reason: "tested" };
    const stop = () =>
      runTransaction<void>({ deps: api.deps }, async (transaction) => {
        endAutomation(transaction, await transaction.change(change_id), end);
      });
    await stop();
    await expect(stop()).rejects.toThrow("does not follow");
    const revoked = await bringApproved({ target: "ui.b" });
    await api.must("revoke", revoked);
    await runPass(2 * DAY);
    expect(await events(revoked)).toEqual(["change_proposed", "consent_decision", "consent_decision"]);
    expect(await api.deps.store.list("applies_due", { limit: 10 })).toEqual([]);
  });

  test("but not while the clock is behind the log", async () => {
    const { api, runPass, bringApproved, change } = await coreWithAutomation();
    const change_id = await bringApproved();
    api.deps.clock.shift(-2 * DAY);
    await runPass();
    api.deps.clock.shift(2 * DAY);
    expect(await change(change_id)).toMatchObject({ status: "approved" });
    await runPass();
    expect(await change(change_id)).toMatchObject({ status: "applied" });
  });
});

test("a change with an emergency consent is applied automatically during a freeze", async () => {
  const break_glass = { approvers: ["ops"] };
  const { api, runPass, status } = await coreWithAutomation({ break_glass });
  await api.post("freeze", { actor: "ops" });
  const { change_id } = await api.propose({ apply_when: "approved", value: "1" });
  await api.post("approve", { change_id, approver: "ops", emergency: true, note: "Outage" });
  await runPass();
  expect(await status(change_id)).toBe("applied");
});

describe("a signed consent", () => {
  const ANA = passkey();
  const principals = { ana: person(ANA) };

  test("covers apply_when, unless it is manual", async () => {
    const { api, runPass, status } = await coreWithAutomation({}, { intent: { policy: ALL_MODES, principals } });
    const { change_id } = await api.propose({ apply_when: "approved", value: "1" });
    const manual = await api.propose({ apply_when: "manual" });
    const statement = async (id: string) =>
      JSON.parse(await requestStatement(api, { decision: "approve", approver: "ana", change_id: id }));
    expect((await statement(change_id)).apply_when).toBe("approved");
    expect(await statement(manual.change_id)).not.toHaveProperty("apply_when");
    const denial = await requestStatement(api, { decision: "deny", approver: "ana", change_id });
    expect(JSON.parse(denial)).not.toHaveProperty("apply_when");
    expect((await decide(api, ANA, "approve", { change_id, approver: "ana" })).status).toBe(200);
    await runPass();
    expect(await status(change_id)).toBe("applied");
  });

  test("for another apply_when is rejected with proof_invalid", async () => {
    const { api } = await coreWithAutomation({}, { intent: { policy: ALL_MODES, principals } });
    const { change_id } = await api.propose({ apply_when: "approved" });
    const statement = await requestStatement(api, { decision: "approve", approver: "ana", change_id });
    const { apply_when: _, ...withoutMode } = JSON.parse(statement);
    const edited = JSON.stringify(withoutMode);
    const fields = { change_id, approver: "ana", proof: JSON.stringify(ANA.sign(edited)), at: withoutMode.at };
    expect(await api.post("approve", fields)).toMatchObject({ status: 403, body: { code: "proof_invalid" } });
  });
});

describe("after a crash", () => {
  /** Approves a change, stops the process after a step of the automatic apply, and runs a pass in another process. */
  async function restartAfter(step: "consent" | "lease" | "value") {
    const { api, adapter } = await coreWithAutomation();
    const change_id = await api.bring("approved", { apply_when: "approved", value: "1" });
    if (step !== "consent") {
      const reached = makeBarrier();
      const never = new Promise<never>(() => {});
      if (step === "lease") adapter.on("validate", () => (reached.open(), never), 1);
      else
        adapter.on(
          "apply",
          ({ change_id: id }) => {
            adapter.host.set(id, "applied");
            reached.open();
            return never;
          },
          1,
        );
      void applyDue(api.deps);
      await reached.opened;
      expect(await readLease(api.deps.store, (await readRecord(api.deps.store, change_id))!.change)).toBeDefined();
    }
    adapter.removeScripts();
    // `exclusive`: no other process uses the store, so the leases of the stopped one need not expire first.
    const deps = await restartDeps(api.deps, { intent: { policy: ALL_MODES }, exclusive: true });
    const before = adapter.calls.length;
    await applyDue(deps);
    const entries = await makeCore(deps).audit();
    const events = entries.filter((entry) => entry.change_id === change_id).map(({ event_type }) => event_type);
    return { events, applies: adapter.calls.slice(before).filter((step) => step === "apply").length };
  }

  test("between consent and apply the change is applied once", async () => {
    const { events, applies } = await restartAfter("consent");
    expect([events.slice(2), applies]).toEqual([["change_applied"], 1]);
  });

  test("while the lease is taken and the value is not set, the change is applied once", async () => {
    const { events, applies } = await restartAfter("lease");
    // The restarted process first records that the interrupted apply set nothing.
    expect([events.slice(2), applies]).toEqual([["change_apply_failed", "change_applied"], 1]);
  });

  test("once the value is set, the apply is recorded and not repeated", async () => {
    const { events, applies } = await restartAfter("value");
    expect([events.slice(2), applies]).toEqual([["change_applied"], 0]);
  });
});

test("a lost index row is reported as a mismatch, and rebuilt from the log", async () => {
  const { api, bringApproved, runPass, status } = await coreWithAutomation();
  const change_id = await bringApproved();
  const [row] = await api.deps.store.list("applies_due", { limit: 10 });
  await api.deps.store.transact(async (tx) => tx.delete("applies_due", row!.id));
  expect((await reconcile(api.deps)).mismatches).toEqual([{ change_id, fields: ["applies_due"] }]);
  await rebuildRecords(api.deps);
  await runPass();
  expect(await status(change_id)).toBe("applied");
});
