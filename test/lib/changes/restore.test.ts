/** Restores of consented values after edits that bypass the service. */
import { expect, test } from "vitest";
import { checkDrift, checkDueDrift } from "../../../lib/changes/check_drift.ts";
import { restoreEdited } from "../../../lib/changes/restore_edited.ts";
import type { TestOptions } from "../../support/deps.ts";
import { restarted } from "../../support/deps.ts";
import { HOUR, MINUTE, SECOND } from "../../support/clock.ts";
import { core, makeCore } from "../../support/core.ts";
import { editableTarget } from "../../support/editable_target.ts";
import { sshPen } from "../../support/passkeys.ts";
import { person, proven, requestStatement } from "../../support/signed.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { sha256 } from "../../../local/node_ports.ts";

/** A service over a target in memory with one applied change, whose value is 2. */
async function applied(options: TestOptions = {}) {
  const { target, adapter, edit, value } = editableTarget();
  const api = await core({ adapter, longLived: true, ...options });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  const restore = (more: object = {}) => api.post("restore", { change_id, actor: "ops", ...more });
  const restored = async () =>
    (await api.audit())
      .filter(({ event_type }) => event_type === "value_restored")
      .map(({ detail }) => JSON.parse(detail));
  const drifted = async () => (await api.audit()).filter(({ event_type }) => event_type === "change_drifted").length;
  const cycle = async (advance = 10 * MINUTE) => {
    api.deps.clock.advance(advance);
    const count = await restoreEdited(api.deps);
    await checkDueDrift(api.deps);
    return count;
  };
  return { api, target, adapter, change_id, edit, value, restore, restored, drifted, cycle };
}
const code = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
const RESTORE = { policy: { on_drift: "restore" } };

test("a person restores the consented value, and the entry says what it replaced", async () => {
  const { api, change_id, edit, value, restore, restored, drifted } = await applied();
  edit("ui.a", "7");
  const { status, body } = await restore({ note: "Edited by hand." });
  expect([status, body.status, body.adapter]).toEqual([200, "applied", { name: "memory", result: "restored" }]);
  expect(value("ui.a")).toBe("2");
  expect(body.audit_entry).toMatchObject({ event_type: "value_restored", change_id });
  expect(await restored()).toMatchObject([
    {
      target: "ui.a",
      status: "applied",
      replaced_digest: sha256("7"),
      adapter: { name: "memory", result: "restored" },
      actor: "ops",
      note: "Edited by hand.",
    },
  ]);
  // The edit is on record before the restore of it, and over after it.
  expect(await drifted()).toBe(1);
  expect((await api.get("drift")).body.drifted).toEqual([]);
  edit("ui.a", undefined);
  await restore();
  expect((await restored())[1]).toMatchObject({ replaced_digest: null });
});

test("a restore leaves what a rollback restores as it was", async () => {
  const { target, adapter, edit, value } = editableTarget();
  target.overwrite({ tenant_id: "t1", target: "ui.a", kind: "config" }, '{ "old":  1.50 }');
  const api = await core({ adapter });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  edit("ui.a", "7");
  await api.post("restore", { change_id, actor: "ops" });
  expect((await api.act("rollback", change_id)).status).toBe(200);
  expect(value("ui.a")).toBe('{ "old":  1.50 }');
});

test("only the applied owner of a target can be restored, where another value is there", async () => {
  const { api, change_id, edit, restore } = await applied();
  expect(code(await restore())).toEqual([400, "illegal_transition"]);
  const later = await api.bring("applied", { target: "ui.a", value: "3" });
  edit("ui.a", "7");
  expect(code(await restore())).toEqual([400, "illegal_transition"]);
  expect((await api.post("restore", { change_id: later, actor: "ops" })).status).toBe(200);
  const approved = await api.bring("approved", { target: "ui.b", value: "3" });
  expect(code(await api.post("restore", { change_id: approved, actor: "ops" }))).toEqual([400, "illegal_transition"]);
  await api.must("rollback", later);
  expect(code(await api.post("restore", { change_id: later, actor: "ops" }))).toEqual([400, "illegal_transition"]);
  expect(code(await api.post("restore", { change_id: "chg_none", actor: "ops" }))).toEqual([404, "change_not_found"]);
  expect(code(await api.post("restore", { change_id }))).toEqual([400, "illegal_transition"]);
});

test("a restore needs a name, an expected revision and no freeze", async () => {
  const { api, change_id, edit, restore, value } = await applied();
  edit("ui.a", "7");
  expect(code(await api.post("restore", { change_id }))).toEqual([400, "invalid_field"]);
  const stale = await api.post("restore", { change_id, actor: "ops" }, { "if-match": '"1"' });
  expect(code(stale)).toEqual([412, "version_mismatch"]);
  await api.post("freeze", { actor: "ops", note: "n" });
  expect(code(await restore())).toEqual([409, "frozen"]);
  expect(value("ui.a")).toBe("7");
  await api.post("unfreeze", { actor: "ops", note: "n" });
  expect((await restore()).status).toBe(200);
});

test("a restore acts at the recorded place only", async () => {
  const { adapter, edit, restore, value, change_id } = await applied();
  edit("ui.a", "7");
  const { locate } = adapter;
  adapter.locate = (entry) => ({ ...locate!(entry), place: "elsewhere" });
  const refused = await restore();
  expect(code(refused)).toEqual([409, "target_moved"]);
  expect(refused.body.places.recorded[0].place).not.toBe("elsewhere");
  adapter.locate = locate!;
  expect([(await restore()).status, value("ui.a"), change_id.length > 0]).toEqual([200, "2", true]);
});

test("a change whose consents were not valid at its apply is not restored", async () => {
  const policy = { approvers: ["ana", "bo"] };
  const { target, adapter, edit } = editableTarget();
  const api = await core({ adapter, intent: { policy } });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  edit("ui.a", "7");
  // Under today's stricter intent the apply of then still counts.
  const today = makeCore(await restarted(api.deps, { adapter, intent: { policy: { approvers: ["bo", "eve"] } } }));
  expect((await today.post("restore", { change_id, actor: "ops" })).status).toBe(200);
  edit("ui.a", "7");
  await today.deps.store.transact(async (tx) => {
    for (const { id } of await tx.list("manifests", { limit: 10 })) tx.put("manifests", id, "{}");
  });
  expect(code(await today.post("restore", { change_id, actor: "ops" }))).toEqual([403, "consent_incomplete"]);
  expect(target.raw({ tenant_id: "t1", target: "ui.a", kind: "config" })).toBe("7");
});

test("a name with keys signs a restore, once", async () => {
  const pen = sshPen();
  const intent = { principals: { ops: person(pen) } };
  const { api, edit, restore, restored, change_id } = await applied({
    intent: { ...intent, policy: { signed_only: false } },
  });
  edit("ui.a", "7");
  expect(code(await restore())).toEqual([403, "proof_required"]);
  const said = { approver: "ops", change_id, note: "by hand" };
  const statement = await requestStatement(api, { decision: "restore", ...said });
  const signed = { note: "by hand", ...proven(pen, statement) };
  expect(code(await restore({ ...signed, note: "other" }))).toEqual([403, "proof_invalid"]);
  expect((await restore(signed)).status).toBe(200);
  expect(await restored()).toMatchObject([{ authenticated: "signature", key: expect.any(String), statement }]);
  edit("ui.a", "7");
  expect(code(await restore(signed))).toEqual([403, "proof_invalid"]);
});

test("the fourth restore of a place within an hour is contested, also for another person", async () => {
  const { api, edit, restore, restored, value, change_id } = await applied();
  const first = api.deps.clock.now();
  for (let one = 0; one < 3; one++) {
    edit("ui.a", `${one + 10}`);
    expect((await restore()).status).toBe(200);
    api.deps.clock.advance(MINUTE);
  }
  edit("ui.a", "7");
  const contested_until = new Date(first + HOUR).toISOString();
  const refused = await restore();
  expect([...code(refused), refused.body.contested_until]).toEqual([409, "restore_contested", contested_until]);
  expect((await api.get("drift")).body.drifted).toMatchObject([{ change_id, contested_until }]);
  // The brake works as ever, and the next owner of the place does not begin a new count.
  const later = await api.bring("applied", { target: "ui.a", value: "3" });
  edit("ui.a", "8");
  expect(code(await api.post("restore", { change_id: later, actor: "eve" }))).toEqual([409, "restore_contested"]);
  expect((await api.post("rollback", { change_id: later, over_drift: "true", note: "n" })).status).toBe(200);
  expect(value("ui.a")).toBe("7");
  api.deps.clock.advance(first + HOUR - 1 - api.deps.clock.now());
  expect(code(await restore())).toEqual([409, "restore_contested"]);
  api.deps.clock.advance(1);
  expect((await restore()).status).toBe(200);
  expect(await restored()).toHaveLength(4);
});

test("under on_drift: restore the next cycle restores an edit that this process saw come", async () => {
  const { edit, value, restored, drifted, cycle, api } = await applied({ intent: RESTORE });
  edit("ui.a", "7");
  expect([await cycle(), value("ui.a"), await drifted()]).toEqual([0, "7", 1]);
  expect([await cycle(SECOND), value("ui.a")]).toEqual([1, "2"]);
  expect(await restored()).toMatchObject([
    { actor: "policy:on_drift", authenticated: null, by: "policy:on_drift", replaced_digest: sha256("7") },
  ]);
  expect((await api.get("drift")).body).toMatchObject({ result: "in_sync", drifted: [] });
  expect(await cycle()).toBe(0);
});

test("without the policy the cycle only reports, and restores what it saw once it has one", async () => {
  const { edit, value, cycle, api } = await applied();
  edit("ui.a", "7");
  await cycle();
  expect([await cycle(), value("ui.a")]).toEqual([0, "7"]);
  api.deps.product!.intent.policy.on_drift = "restore";
  expect([await cycle(), value("ui.a")]).toEqual([1, "2"]);
});

test.each<[string, (one: Awaited<ReturnType<typeof applied>>) => Promise<Awaited<ReturnType<typeof applied>>["api"]>]>([
  [
    "a start",
    async ({ api, adapter }) => makeCore(await restarted(api.deps, { adapter, intent: RESTORE, longLived: true })),
  ],
  [
    "a process that does not last",
    async ({ api, adapter }) => makeCore(await restarted(api.deps, { adapter, intent: RESTORE })),
  ],
  [
    "an accepted loss",
    async ({ api }) => {
      const { length, head } = (await api.get("audit")).body;
      api.deps.integrity.breach = { first_invalid: 1, reason: "test" };
      await api.deps.store.transact((tx) =>
        tx.put("meta", "breach", {
          first_invalid: length,
          reason: "test",
          at: "",
          known: { length: length + 1, head: null },
        } as never),
      );
      const done = await api.post("audit/accept-loss", { actor: "ops", length: String(length), head });
      if (done.status !== 200) throw new Error(done.text);
      await api.post("unfreeze", { actor: "ops", note: "n" });
      return api;
    },
  ],
])("after %s the first look only reports, and a person restores", async (_, go) => {
  const one = await applied({ intent: RESTORE });
  await one.cycle();
  one.edit("ui.a", "7");
  const api = await go(one);
  const { clock } = api.deps;
  for (let cycles = 0; cycles < 3; cycles++) {
    await restoreEdited(api.deps);
    await checkDrift(api.deps);
    clock.advance(10 * MINUTE);
  }
  expect(one.value("ui.a")).toBe("7");
  expect((await api.post("restore", { change_id: one.change_id, actor: "ops" })).status).toBe(200);
  expect(one.value("ui.a")).toBe("2");
});

test("a process that does not last restores no edit that it saw come", async () => {
  const { edit, value, cycle } = await applied({ intent: RESTORE, longLived: false });
  await cycle();
  edit("ui.a", "7");
  await cycle();
  expect([await cycle(), value("ui.a")]).toEqual([0, "7"]);
});

test("the cycle restores nothing while frozen, and a fight ends as contested", async () => {
  const { api, edit, value, restored, cycle } = await applied({ intent: RESTORE });
  edit("ui.a", "7");
  await cycle();
  await api.post("freeze", { actor: "ops", note: "n" });
  expect([await cycle(SECOND), value("ui.a")]).toEqual([0, "7"]);
  await api.post("unfreeze", { actor: "ops", note: "n" });
  for (let edits = 0; edits < 3; edits++) {
    expect(await cycle(SECOND)).toBe(1);
    edit("ui.a", `${edits + 20}`);
    await cycle();
  }
  expect([await cycle(SECOND), value("ui.a")]).toEqual([0, "22"]);
  expect(await cycle(SECOND)).toBe(0);
  expect((await api.get("drift")).body.drifted).toMatchObject([{ contested_until: expect.any(String) }]);
  expect(await restored()).toHaveLength(3);
  const until = Date.parse((await api.get("drift")).body.drifted[0].contested_until);
  expect(await cycle(until - api.deps.clock.now())).toBe(1);
});

test("an edit that comes while a restore is on its way is not overwritten unseen", async () => {
  const { target, edit, value, restore, restored } = await applied();
  edit("ui.a", "7");
  target.edits.push(() => edit("ui.a", "8"));
  expect((await restore()).status).toBe(200);
  expect([value("ui.a"), (await restored())[0].replaced_digest]).toEqual(["2", sha256("8")]);
});

test("a restore that the system rejects leaves no lease and no entry", async () => {
  const { api, target, edit, restore, restored, value } = await applied();
  edit("ui.a", "7");
  target.faults.push("rejected");
  const refused = await restore();
  expect([...code(refused), refused.body.stage]).toEqual([502, "adapter_failed", "restore"]);
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
  expect(await restored()).toEqual([]);
  expect([(await restore()).status, value("ui.a")]).toEqual([200, "2"]);
});

test.each([
  ["lost answer", true],
  ["lost request", false],
] as const)("a restore with a %s is resolved by the target's value", async (fault, isDone) => {
  const { api, target, edit, restore, restored, value } = await applied();
  edit("ui.a", "7");
  target.faults.push(fault);
  expect(code(await restore())).toEqual([502, "adapter_failed"]);
  if (!isDone) api.deps.clock.advance(12 * MINUTE);
  await api.cycle();
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
  expect(value("ui.a")).toBe(isDone ? "2" : "7");
  expect(await restored()).toMatchObject(isDone ? [{ late: true, replaced_digest: sha256("7") }] : []);
});

test("a restore that set the value before a fault is recorded", async () => {
  const { adapter, edit, value, restore, restored } = await applied();
  edit("ui.a", "7");
  const { restore: set } = adapter;
  adapter.restore = async (...request) => {
    await set!(...request);
    throw new Error("the disk is full");
  };
  expect([(await restore()).status, value("ui.a")]).toEqual([200, "2"]);
  expect(await restored()).toMatchObject([{ replaced_digest: sha256("7") }]);
});

test("a value that is back in its place when the restore begins is no restore", async () => {
  const { adapter, edit, restore, restored } = await applied();
  edit("ui.a", "7");
  const { restore: set } = adapter;
  adapter.restore = (...request) => {
    edit("ui.a", "2");
    return set!(...request);
  };
  expect(code(await restore())).toEqual([400, "illegal_transition"]);
  expect(await restored()).toEqual([]);
  edit("ui.a", "7");
  adapter.restore = set!;
  expect((await restore()).status).toBe(200);
});

test("what a rollback of a later change puts back is no edit that the cycle restores", async () => {
  const { api, edit, value, cycle } = await applied({ intent: RESTORE });
  edit("ui.a", "7");
  await cycle();
  const later = await api.bring("applied", { target: "ui.a", value: "3" });
  await api.must("rollback", later);
  expect(value("ui.a")).toBe("7");
  expect([await cycle(), await cycle(), value("ui.a")]).toEqual([0, 0, "7"]);
});

test("a restore without an answer from an adapter that keeps no record of it ends", async () => {
  const { api, adapter, edit, restore, change_id } = await applied();
  edit("ui.a", "7");
  delete adapter.findRestore;
  adapter.restore = () => Promise.reject(new Unanswered("no answer"));
  expect((await restore()).status).toBe(502);
  api.deps.clock.advance(20 * MINUTE);
  expect((await api.post("rollback", { change_id, over_drift: "true", note: "n" })).status).toBe(200);
});

test("a signature under an intent that ends before its restore does is left out with its name", async () => {
  const pen = sshPen();
  const intent = { principals: { ops: person(pen) }, policy: { signed_only: false } };
  const { api, adapter, edit, restore, restored, change_id } = await applied({ intent });
  edit("ui.a", "7");
  const statement = await requestStatement(api, { decision: "restore", approver: "ops", change_id, note: "" });
  const { restore: set } = adapter;
  adapter.restore = async (...request) => {
    api.deps.product = (await restarted(api.deps, { adapter, intent: { ...intent, update_epoch: 99 } })).product!;
    return set!(...request);
  };
  expect((await restore(proven(pen, statement))).status).toBe(200);
  const [detail] = await restored();
  expect(detail).not.toHaveProperty("proof");
  expect(detail).toMatchObject({ actor: null, replaced_digest: sha256("7") });
});
