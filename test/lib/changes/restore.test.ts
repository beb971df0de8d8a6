/** Restores of consented values after edits that bypass the service. */
import { expect, test } from "vitest";
import { checkDrift, checkDueDrift } from "../../../lib/changes/check_drift.ts";
import { restoreEdited } from "../../../lib/changes/restore_edited.ts";
import type { TestOptions } from "../../support/deps.ts";
import { restartDeps } from "../../support/deps.ts";
import { HOUR, MINUTE, SECOND } from "../../support/clock.ts";
import { core, makeCore } from "../../support/core.ts";
import { editableTarget } from "../../support/editable_target.ts";
import { sshSigner } from "../../support/passkeys.ts";
import { person, proofFields, requestStatement } from "../../support/signed.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { sha256 } from "../../../local/node_ports.ts";

/** Opens a service with a target in memory and one applied change, whose value is 2. */
async function coreWithAppliedChange(options: TestOptions = {}) {
  const { target, adapter, edit, value } = editableTarget();
  const api = await core({ adapter, longLived: true, ...options });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  const restore = (fields: object = {}) => api.post("restore", { change_id, actor: "ops", ...fields });
  const readRestores = async () =>
    (await api.audit())
      .filter(({ event_type }) => event_type === "value_restored")
      .map(({ detail }) => JSON.parse(detail));
  const countDriftEntries = async () =>
    (await api.audit()).filter(({ event_type }) => event_type === "change_drifted").length;
  /**
   * Runs these parts of a cycle in its order, so one cycle finds an edit and the next one
   * restores the value. By default time advances to the next round of checks. Returns the number of restores.
   */
  const cycle = async (advance = 10 * MINUTE) => {
    api.deps.clock.advance(advance);
    const count = await restoreEdited(api.deps);
    await checkDueDrift(api.deps);
    return count;
  };
  return { api, target, adapter, change_id, edit, value, restore, readRestores, countDriftEntries, cycle };
}
const toError = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
const RESTORE = { policy: { on_drift: "restore" } };

test("a person restores the consented value, and the entry has the digest of the replaced value", async () => {
  const { api, change_id, edit, value, restore, readRestores, countDriftEntries } = await coreWithAppliedChange();
  edit("ui.a", "7");
  const { status, body } = await restore({ note: "Edited by hand." });
  expect([status, body.status, body.adapter]).toEqual([200, "applied", { name: "memory", result: "restored" }]);
  expect(value("ui.a")).toBe("2");
  expect(body.audit_entry).toMatchObject({ event_type: "value_restored", change_id });
  expect(await readRestores()).toMatchObject([
    {
      target: "ui.a",
      status: "applied",
      replaced_digest: sha256("7"),
      adapter: { name: "memory", result: "restored" },
      actor: "ops",
      note: "Edited by hand.",
    },
  ]);
  // The edit is recorded as drift before its restore, and the episode ends with the restore.
  expect(await countDriftEntries()).toBe(1);
  expect((await api.get("drift")).body.drifted).toEqual([]);
  edit("ui.a", undefined);
  await restore();
  expect((await readRestores())[1]).toMatchObject({ replaced_digest: null });
});

test("a rollback after a restore still restores the original value, byte for byte", async () => {
  const { target, adapter, edit, value } = editableTarget();
  target.overwrite({ tenant_id: "t1", target: "ui.a", kind: "config" }, '{ "old":  1.50 }');
  const api = await core({ adapter });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  edit("ui.a", "7");
  await api.post("restore", { change_id, actor: "ops" });
  expect((await api.act("rollback", change_id)).status).toBe(200);
  expect(value("ui.a")).toBe('{ "old":  1.50 }');
});

test("only the change in force can be restored, and only if its value was edited", async () => {
  const { api, change_id, edit, restore } = await coreWithAppliedChange();
  expect(toError(await restore())).toEqual([400, "illegal_transition"]);
  const later = await api.bring("applied", { target: "ui.a", value: "3" });
  edit("ui.a", "7");
  expect(toError(await restore())).toEqual([400, "illegal_transition"]);
  expect((await api.post("restore", { change_id: later, actor: "ops" })).status).toBe(200);
  const approved = await api.bring("approved", { target: "ui.b", value: "3" });
  expect(toError(await api.post("restore", { change_id: approved, actor: "ops" }))).toEqual([
    400,
    "illegal_transition",
  ]);
  await api.must("rollback", later);
  expect(toError(await api.post("restore", { change_id: later, actor: "ops" }))).toEqual([400, "illegal_transition"]);
  expect(toError(await api.post("restore", { change_id: "chg_none", actor: "ops" }))).toEqual([
    404,
    "change_not_found",
  ]);
  // The first change is in force again, with its own value; this is checked before the missing name.
  expect(toError(await api.post("restore", { change_id }))).toEqual([400, "illegal_transition"]);
});

test("a restore is rejected without a name, with a stale revision, and during a freeze", async () => {
  const { api, change_id, edit, restore, value } = await coreWithAppliedChange();
  edit("ui.a", "7");
  expect(toError(await api.post("restore", { change_id }))).toEqual([400, "invalid_field"]);
  const stale = await api.post("restore", { change_id, actor: "ops" }, { "if-match": '"1"' });
  expect(toError(stale)).toEqual([412, "version_mismatch"]);
  await api.post("freeze", { actor: "ops", note: "n" });
  expect(toError(await restore())).toEqual([409, "frozen"]);
  expect(value("ui.a")).toBe("7");
  await api.post("unfreeze", { actor: "ops", note: "n" });
  expect((await restore()).status).toBe(200);
});

test("a restore is rejected if the target is now set at another location", async () => {
  const { adapter, edit, restore, value } = await coreWithAppliedChange();
  edit("ui.a", "7");
  const { locate } = adapter;
  adapter.locate = (entry) => ({ ...locate!(entry), place: "elsewhere" });
  const rejected = await restore();
  expect(toError(rejected)).toEqual([409, "target_moved"]);
  expect(rejected.body.places.recorded[0].place).not.toBe("elsewhere");
  adapter.locate = locate!;
  expect([(await restore()).status, value("ui.a")]).toEqual([200, "2"]);
});

test("a change is restored only if the log proves that its consents were valid at its apply", async () => {
  const policy = { approvers: ["ana", "bo"] };
  const { target, adapter, edit } = editableTarget();
  const api = await core({ adapter, intent: { policy } });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  edit("ui.a", "7");
  // The consents were valid at the apply, so a stricter intent does not matter.
  const stricter = makeCore(await restartDeps(api.deps, { adapter, intent: { policy: { approvers: ["bo", "eve"] } } }));
  expect((await stricter.post("restore", { change_id, actor: "ops" })).status).toBe(200);
  edit("ui.a", "7");
  // Without the manifest of the apply the consents cannot be verified.
  await stricter.deps.store.transact(async (tx) => {
    for (const { id } of await tx.list("manifests", { limit: 10 })) tx.put("manifests", id, "{}");
  });
  expect(toError(await stricter.post("restore", { change_id, actor: "ops" }))).toEqual([403, "consent_incomplete"]);
  expect(target.raw({ tenant_id: "t1", target: "ui.a", kind: "config" })).toBe("7");
});

test("a person with keys must sign a restore, and the proof works once", async () => {
  const signer = sshSigner();
  const intent = { principals: { ops: person(signer) } };
  const { api, edit, restore, readRestores, change_id } = await coreWithAppliedChange({
    intent: { ...intent, policy: { signed_only: false } },
  });
  edit("ui.a", "7");
  expect(toError(await restore())).toEqual([403, "proof_required"]);
  const fields = { approver: "ops", change_id, note: "by hand" };
  const statement = await requestStatement(api, { decision: "restore", ...fields });
  const signed = { note: "by hand", ...proofFields(signer, statement) };
  expect(toError(await restore({ ...signed, note: "other" }))).toEqual([403, "proof_invalid"]);
  expect((await restore(signed)).status).toBe(200);
  expect(await readRestores()).toMatchObject([{ authenticated: "signature", key: expect.any(String), statement }]);
  edit("ui.a", "7");
  expect(toError(await restore(signed))).toEqual([403, "proof_invalid"]);
});

test("the fourth restore of a target within an hour is rejected, also for another person", async () => {
  const { api, edit, restore, readRestores, value, change_id } = await coreWithAppliedChange();
  const first = api.deps.clock.now();
  for (let index = 0; index < 3; index++) {
    edit("ui.a", `${index + 10}`);
    expect((await restore()).status).toBe(200);
    api.deps.clock.advance(MINUTE);
  }
  edit("ui.a", "7");
  const contested_until = new Date(first + HOUR).toISOString();
  const rejected = await restore();
  expect([...toError(rejected), rejected.body.contested_until]).toEqual([409, "restore_contested", contested_until]);
  expect((await api.get("drift")).body.drifted).toMatchObject([{ change_id, contested_until }]);
  // A rollback still works, and a later owner of the target does not start a new count.
  const later = await api.bring("applied", { target: "ui.a", value: "3" });
  edit("ui.a", "8");
  expect(toError(await api.post("restore", { change_id: later, actor: "eve" }))).toEqual([409, "restore_contested"]);
  expect((await api.post("rollback", { change_id: later, over_drift: "true", note: "n" })).status).toBe(200);
  expect(value("ui.a")).toBe("7");
  api.deps.clock.advance(first + HOUR - 1 - api.deps.clock.now());
  expect(toError(await restore())).toEqual([409, "restore_contested"]);
  api.deps.clock.advance(1);
  expect((await restore()).status).toBe(200);
  expect(await readRestores()).toHaveLength(4);
});

test("with on_drift: restore the next cycle restores an edit that this process observed", async () => {
  const { edit, value, readRestores, countDriftEntries, cycle, api } = await coreWithAppliedChange({ intent: RESTORE });
  edit("ui.a", "7");
  expect([await cycle(), value("ui.a"), await countDriftEntries()]).toEqual([0, "7", 1]);
  expect([await cycle(SECOND), value("ui.a")]).toEqual([1, "2"]);
  expect(await readRestores()).toMatchObject([
    { actor: "policy:on_drift", authenticated: null, by: "policy:on_drift", replaced_digest: sha256("7") },
  ]);
  expect((await api.get("drift")).body).toMatchObject({ result: "in_sync", drifted: [] });
  expect(await cycle()).toBe(0);
});

test("without on_drift: restore a cycle only reports, until the policy is set", async () => {
  const { edit, value, cycle, api } = await coreWithAppliedChange();
  edit("ui.a", "7");
  await cycle();
  expect([await cycle(), value("ui.a")]).toEqual([0, "7"]);
  api.deps.product!.intent.policy.on_drift = "restore";
  expect([await cycle(), value("ui.a")]).toEqual([1, "2"]);
});

type Setup = Awaited<ReturnType<typeof coreWithAppliedChange>>;

test.each<[string, (setup: Setup) => Promise<Setup["api"]>]>([
  [
    "a restart",
    async ({ api, adapter }) => makeCore(await restartDeps(api.deps, { adapter, intent: RESTORE, longLived: true })),
  ],
  [
    "a restart as a short-lived process",
    async ({ api, adapter }) => makeCore(await restartDeps(api.deps, { adapter, intent: RESTORE })),
  ],
  [
    "an accepted loss",
    async ({ api }) => {
      // Reports a loss of one entry, which did not happen, and accepts it.
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
      const reply = await api.post("audit/accept-loss", { actor: "ops", length: String(length), head });
      if (reply.status !== 200) throw new Error(reply.text);
      await api.post("unfreeze", { actor: "ops", note: "n" });
      return api;
    },
  ],
])("after %s, cycles only report an unobserved edit, and a person can restore it", async (_, interrupt) => {
  const setup = await coreWithAppliedChange({ intent: RESTORE });
  await setup.cycle();
  setup.edit("ui.a", "7");
  const api = await interrupt(setup);
  const { clock } = api.deps;
  for (let cycles = 0; cycles < 3; cycles++) {
    await restoreEdited(api.deps);
    await checkDrift(api.deps);
    clock.advance(10 * MINUTE);
  }
  expect(setup.value("ui.a")).toBe("7");
  expect((await api.post("restore", { change_id: setup.change_id, actor: "ops" })).status).toBe(200);
  expect(setup.value("ui.a")).toBe("2");
});

test("a short-lived process restores no edits", async () => {
  const { edit, value, cycle } = await coreWithAppliedChange({ intent: RESTORE, longLived: false });
  await cycle();
  edit("ui.a", "7");
  await cycle();
  expect([await cycle(), value("ui.a")]).toEqual([0, "7"]);
});

test("cycles restore nothing during a freeze, and at most three times per hour", async () => {
  const { api, edit, value, readRestores, cycle } = await coreWithAppliedChange({ intent: RESTORE });
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
  expect(await readRestores()).toHaveLength(3);
  const until = Date.parse((await api.get("drift")).body.drifted[0].contested_until);
  expect(await cycle(until - api.deps.clock.now())).toBe(1);
});

test("an edit made during a restore is the value that the entry records as replaced", async () => {
  const { target, edit, value, restore, readRestores } = await coreWithAppliedChange();
  edit("ui.a", "7");
  target.edits.push(() => edit("ui.a", "8"));
  expect((await restore()).status).toBe(200);
  expect([value("ui.a"), (await readRestores())[0].replaced_digest]).toEqual(["2", sha256("8")]);
});

test("a restore that the target system rejects leaves no lease and no entry", async () => {
  const { api, target, edit, restore, readRestores, value } = await coreWithAppliedChange();
  edit("ui.a", "7");
  target.faults.push("rejected");
  const rejected = await restore();
  expect([...toError(rejected), rejected.body.stage]).toEqual([502, "adapter_failed", "restore"]);
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
  expect(await readRestores()).toEqual([]);
  expect([(await restore()).status, value("ui.a")]).toEqual([200, "2"]);
});

test.each([
  ["lost answer", true],
  ["lost request", false],
] as const)("a restore with a %s is resolved by the target's value", async (fault, isWritten) => {
  const { api, target, edit, restore, readRestores, value } = await coreWithAppliedChange();
  edit("ui.a", "7");
  target.faults.push(fault);
  expect(toError(await restore())).toEqual([502, "adapter_failed"]);
  // A lost request could still take effect for ten minutes after its lease of one minute.
  if (!isWritten) api.deps.clock.advance(12 * MINUTE);
  await api.cycle();
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
  expect(value("ui.a")).toBe(isWritten ? "2" : "7");
  expect(await readRestores()).toMatchObject(isWritten ? [{ late: true, replaced_digest: sha256("7") }] : []);
});

test("a restore that set the value before a fault is recorded", async () => {
  const { adapter, edit, value, restore, readRestores } = await coreWithAppliedChange();
  edit("ui.a", "7");
  const { restore: originalRestore } = adapter;
  adapter.restore = async (...request) => {
    await originalRestore!(...request);
    throw new Error("the disk is full");
  };
  expect([(await restore()).status, value("ui.a")]).toEqual([200, "2"]);
  expect(await readRestores()).toMatchObject([{ replaced_digest: sha256("7") }]);
});

test("a restore of a value that was corrected in the meantime is rejected without an entry", async () => {
  const { adapter, edit, restore, readRestores } = await coreWithAppliedChange();
  edit("ui.a", "7");
  const { restore: originalRestore } = adapter;
  adapter.restore = (...request) => {
    edit("ui.a", "2");
    return originalRestore!(...request);
  };
  expect(toError(await restore())).toEqual([400, "illegal_transition"]);
  expect(await readRestores()).toEqual([]);
  edit("ui.a", "7");
  adapter.restore = originalRestore!;
  expect((await restore()).status).toBe(200);
});

test("the value restored by a rollback of a later change is not treated as a new edit", async () => {
  const { api, edit, value, cycle } = await coreWithAppliedChange({ intent: RESTORE });
  edit("ui.a", "7");
  await cycle();
  const later = await api.bring("applied", { target: "ui.a", value: "3" });
  await api.must("rollback", later);
  expect(value("ui.a")).toBe("7");
  expect([await cycle(), await cycle(), value("ui.a")]).toEqual([0, 0, "7"]);
});

test("an unanswered restore of an adapter without findRestore expires", async () => {
  const { api, adapter, edit, restore, change_id } = await coreWithAppliedChange();
  edit("ui.a", "7");
  delete adapter.findRestore;
  adapter.restore = () => Promise.reject(new Unanswered("no answer"));
  expect((await restore()).status).toBe(502);
  api.deps.clock.advance(20 * MINUTE);
  expect((await api.post("rollback", { change_id, over_drift: "true", note: "n" })).status).toBe(200);
});

test("signature and actor are left out of the entry if the intent changes during the restore", async () => {
  const signer = sshSigner();
  const intent = { principals: { ops: person(signer) }, policy: { signed_only: false } };
  const { api, adapter, edit, restore, readRestores, change_id } = await coreWithAppliedChange({ intent });
  edit("ui.a", "7");
  const statement = await requestStatement(api, { decision: "restore", approver: "ops", change_id, note: "" });
  const { restore: originalRestore } = adapter;
  adapter.restore = async (...request) => {
    api.deps.product = (await restartDeps(api.deps, { adapter, intent: { ...intent, update_epoch: 99 } })).product!;
    return originalRestore!(...request);
  };
  expect((await restore(proofFields(signer, statement))).status).toBe(200);
  const [detail] = await readRestores();
  expect(detail).not.toHaveProperty("proof");
  expect(detail).toMatchObject({ actor: null, replaced_digest: sha256("7") });
});
