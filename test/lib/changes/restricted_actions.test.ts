/** Actions restricted by policy.permissions: the people who may perform them, the required proofs, and the entries. */
import { describe, expect, test } from "vitest";
import { PROPOSAL } from "../../support/client.ts";
import { makeCore, type Core, core } from "../../support/core.ts";
import { openDeps, restartDeps } from "../../support/deps.ts";
import { passkey } from "../../support/passkeys.ts";
import { makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { postSignedAction, type Signer, person, proofFields, requestStatement } from "../../support/signed.ts";
import type { Fields } from "../../support/requests.ts";

const [OPS, EVE] = [passkey(), passkey()];
const PRINCIPALS = { ops: person(OPS), eve: person(EVE), bo: { kind: "person" } };
const PERMISSIONS = { apply: ["ops", "bo"], rollback: ["ops"], freeze: ["ops"], feed_kpis: ["ops", "bo"] };
const errorReply = (code: string, status = 403) => ({ status, body: { code } });
const parseDetail = ({ body }: { body: { audit_entry: { detail: string } } }) => JSON.parse(body.audit_entry.detail);
const coreWithoutPrincipals = (permissions: object = PERMISSIONS, policy: object = {}) =>
  core({ intent: { policy: { permissions, ...policy } } });
const coreWithPrincipals = (policy: object = {}, options: object = {}) =>
  core({
    intent: { principals: PRINCIPALS, policy: { signed_only: false, permissions: PERMISSIONS, ...policy } },
    ...options,
  });

/** Adds the proof of a signed action to its fields. */
async function signFields(api: Core, signer: Signer, decision: string, fields: Fields): Promise<Fields> {
  const { actor, dry_run: _, ...facts } = fields;
  return { ...fields, ...proofFields(signer, await requestStatement(api, { decision, approver: actor!, ...facts })) };
}

describe("permissions without principals in the intent", () => {
  test("allow apply, rollback, freeze, KPI feed and late note for the listed names only", async () => {
    const api = await coreWithoutPrincipals({ ...PERMISSIONS, notes: ["ops"] });
    const change_id = await api.bring("approved");
    for (const actor of [{}, { actor: "eve" }] as Fields[]) {
      const before = await api.audit();
      expect(await api.post("apply", { change_id, ...actor })).toMatchObject(errorReply("not_permitted"));
      expect(await api.post("apply", { change_id, dry_run: "true", ...actor })).toMatchObject(
        errorReply("not_permitted"),
      );
      expect(await api.post("freeze", actor)).toMatchObject(errorReply("not_permitted"));
      expect(await api.post("kpi", { csat: "4", ...actor })).toMatchObject(errorReply("not_permitted"));
      expect(await api.audit()).toEqual(before);
    }
    expect((await api.post("apply", { change_id, dry_run: "true", actor: " OPS" })).status).toBe(200);
    expect((await api.post("apply", { change_id, actor: "Bo" })).status).toBe(200);
    const note = { change_id, item: "rationale", note: "late" };
    expect(await api.post("note", { ...note, actor: "eve" })).toMatchObject(errorReply("not_permitted"));
    expect((await api.post("note", { ...note, actor: "ops" })).status).toBe(200);
    expect(await api.post("rollback", { change_id, actor: "bo" })).toMatchObject(errorReply("not_permitted"));
    expect(await api.post("rollback", { change_id, dry_run: "true" })).toMatchObject(errorReply("not_permitted"));
    expect((await api.post("rollback", { change_id, actor: "ops" })).status).toBe(200);
    expect((await api.post("kpi", { csat: "4", actor: "ops" })).status).toBe(200);
  });

  test("for unfreeze, erase and accept_clock replace the approvers", async () => {
    const api = await coreWithoutPrincipals(
      { unfreeze: ["lift"], erase: ["privacy"], accept_clock: ["ops"] },
      { approvers: ["ana"] },
    );
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", { actor: "ana" })).toMatchObject(errorReply("not_permitted"));
    expect((await api.post("unfreeze", { actor: "lift" })).status).toBe(200);
    const change_id = await api.bring("denied");
    expect(await api.post("erase", { change_id, actor: "ana" })).toMatchObject(errorReply("not_permitted"));
    expect((await api.post("erase", { change_id, actor: "privacy" })).status).toBe(200);
    expect(await api.post("audit/accept-clock", { actor: "ana" })).toMatchObject(errorReply("not_permitted"));
    expect(await api.post("audit/accept-clock", { actor: "ops" })).toMatchObject(errorReply("illegal_transition", 400));
  });

  test("let emergency approvers freeze and roll back, and nothing else", async () => {
    const api = await coreWithoutPrincipals(PERMISSIONS, {
      groups: { night: ["oncall"] },
      break_glass: { approvers: ["group:night"] },
    });
    const change_id = await api.bring("approved");
    expect(await api.post("apply", { change_id, actor: "oncall" })).toMatchObject(errorReply("not_permitted"));
    await api.post("apply", { change_id, actor: "ops" });
    expect((await api.post("rollback", { change_id, actor: "OnCall" })).status).toBe(200);
    expect((await api.post("freeze", { actor: "oncall" })).status).toBe(200);
  });

  test("are shown as a gate that names the people who may apply or roll back", async () => {
    const api = await coreWithoutPrincipals();
    const change_id = await api.bring("approved");
    const readGate = async () =>
      (await api.change(change_id)).gates.find(({ gate }: { gate: string }) => gate === "permission");
    expect(await readGate()).toEqual({ gate: "permission", state: "pass", message: "only ops, bo may apply it" });
    await api.post("apply", { change_id, actor: "ops" });
    expect((await readGate())!.message).toBe("only ops may roll it back");
  });
});

describe("permissions with principals in the intent", () => {
  test("are not met by a name without proof, and a person with keys must sign", async () => {
    const api = await coreWithPrincipals({ break_glass: { approvers: ["eve", "bo"] } });
    const change_id = await api.bring("approved");
    expect(await api.post("apply", { change_id, actor: "bo" })).toMatchObject(errorReply("not_permitted"));
    expect(await api.post("freeze", { actor: "bo" })).toMatchObject(errorReply("not_permitted"));
    expect(await api.post("kpi", { csat: "4", actor: "bo" })).toMatchObject(errorReply("not_permitted"));
    for (const dry_run of ["true", "false"])
      expect(await api.post("apply", { change_id, dry_run, actor: "ops" })).toMatchObject(errorReply("proof_required"));
    expect(await api.post("kpi", { csat: "4", actor: "ops" })).toMatchObject(errorReply("proof_required"));
    const eve = await signFields(api, EVE, "apply", { change_id, actor: "eve" });
    expect(await api.post("apply", eve)).toMatchObject(errorReply("not_permitted"));
    expect((await postSignedAction(api, EVE, "freeze", { actor: "eve" })).status).toBe(200);
  });

  test("are met by the proxy's name of a person without keys", async () => {
    const api = await coreWithPrincipals({}, { identityHeader: "x-person" });
    const asPerson = (name: string) => ({ "x-person": name });
    const { change_id } = (await api.post("propose", PROPOSAL, asPerson("ana"))).body;
    await api.post("approve", { change_id }, asPerson("bo"));
    expect(await api.post("apply", { change_id }, asPerson("carl"))).toMatchObject(errorReply("not_permitted"));
    expect(await api.post("apply", { change_id }, asPerson("ops"))).toMatchObject(errorReply("proof_required"));
    expect((await api.post("apply", { change_id }, asPerson("bo"))).status).toBe(200);
    expect(await api.post("kpi", { csat: "4" })).toMatchObject(errorReply("not_permitted"));
    expect((await api.post("kpi", { csat: "4" }, asPerson("bo"))).status).toBe(200);
  });

  test("are met by signatures, which are recorded and work once", async () => {
    const api = await coreWithPrincipals();
    const change_id = await api.bring("approved");
    const apply = await signFields(api, OPS, "apply", { change_id, actor: "ops", note: "now" });
    expect((await api.post("apply", { ...apply, dry_run: "true" })).status).toBe(200);
    const applied = await api.post("apply", apply);
    expect(parseDetail(applied)).toMatchObject({
      actor: "ops",
      authenticated: "signature",
      note: "now",
      key: expect.stringMatching(/^SHA256:/),
    });
    const { digest } = applied.body.change;
    expect(JSON.parse(parseDetail(applied).statement)).toMatchObject({
      decision: "apply",
      approver: "ops",
      change_id,
      digest,
    });
    const rollbackFields = { change_id, actor: "ops", note: "worse", over_drift: "true" };
    const rolledBack = await api.post("rollback", await signFields(api, OPS, "rollback", rollbackFields));
    expect(JSON.parse(parseDetail(rolledBack).statement)).toMatchObject({ decision: "rollback", over_drift: true });
    const kpis = { incident_rate: 1.5e-7, csat: 4 };
    const statement = await requestStatement(api, {
      decision: "feed_kpis",
      approver: "ops",
      kpis: JSON.stringify(kpis),
    });
    const feed = { csat: "4", incident_rate: "1.5e-7", actor: "ops", ...proofFields(OPS, statement) };
    expect(JSON.parse(parseDetail(await api.post("kpi", feed)).statement)).toMatchObject({ actor: "ops", kpis });
    expect(await api.post("kpi", feed)).toMatchObject(errorReply("proof_invalid"));
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("are not met by a signature of another action, change, note or feed", async () => {
    const api = await coreWithPrincipals();
    const change_id = await api.bring("approved");
    const other = await api.bring("approved", { target: "ui.other" });
    const fields = await signFields(api, OPS, "apply", { change_id, actor: "ops" });
    expect(await api.post("apply", { ...fields, change_id: other })).toMatchObject(errorReply("proof_invalid"));
    expect(await api.post("apply", { ...fields, note: "x" })).toMatchObject(errorReply("proof_invalid"));
    expect(await api.post("apply", { change_id, actor: "ops", proof: fields["proof"]! })).toMatchObject(
      errorReply("invalid_field", 400),
    );
    await api.post("apply", fields);
    expect(await api.post("rollback", fields)).toMatchObject(errorReply("proof_invalid"));
    const drifted = await signFields(api, OPS, "rollback", { change_id, actor: "ops", note: "x" });
    expect(await api.post("rollback", { ...drifted, over_drift: "true" })).toMatchObject(errorReply("proof_invalid"));
    const kpis = JSON.stringify({ csat: 4 });
    const statement = await requestStatement(api, { decision: "feed_kpis", approver: "ops", kpis });
    const feed = { actor: "ops", ...proofFields(OPS, statement) };
    expect(await api.post("kpi", { ...feed, csat: "5" })).toMatchObject(errorReply("proof_invalid"));
    expect(await api.post("kpi", { ...feed, csat: "4", nrr_quarterly: "1" })).toMatchObject(
      errorReply("proof_invalid"),
    );
  });

  test("allow an unlisted action with or without a signature", async () => {
    const api = await coreWithPrincipals({ permissions: {} });
    const change_id = await api.bring("approved");
    // Without a list a proof may still be sent, but only a complete one.
    expect(await api.post("apply", { change_id, at: api.deps.clock.iso() })).toMatchObject(
      errorReply("invalid_field", 400),
    );
    const fields = await signFields(api, EVE, "apply", { change_id, actor: "eve" });
    expect(parseDetail(await api.post("apply", fields))).toMatchObject({ actor: "eve", authenticated: "signature" });
    expect((await api.post("rollback", { change_id, actor: "eve" })).status).toBe(200);
  });

  test("without rollback still let over_drift require a signature under signed_only", async () => {
    const before = await coreWithPrincipals({ permissions: {} });
    const change_id = await before.bring("applied");
    const policy = { signed_only: true };
    const after = await restartDeps(before.deps, { intent: { principals: PRINCIPALS, policy, update_epoch: 99 } });
    const api = makeCore(after);
    const overDrift = { change_id, over_drift: "true", note: "x" };
    expect(await api.post("rollback", overDrift)).toMatchObject(errorReply("proof_required"));
    expect(await api.post("rollback", { ...overDrift, actor: "bo" })).toMatchObject(errorReply("proof_required"));
    const statement = { decision: "rollback", approver: "ops", change_id, note: "x", over_drift: "true" };
    const signed = { ...overDrift, actor: "ops", ...proofFields(OPS, await requestStatement(api, statement)) };
    expect((await api.post("rollback", signed)).status).toBe(200);
  });

  test("do not restrict guardrail rollbacks", async () => {
    const guardrails = [{ kpi: "csat", max_regression: 0.1, action: "rollback" }];
    const api = await coreWithPrincipals({ permissions: { rollback: ["ops"] }, guardrails });
    await api.post("kpi", { csat: "5" });
    const change_id = await api.bring("applied", { kpi: "csat", reversible: "true" });
    await api.post("kpi", { csat: "4" });
    await api.cycle();
    expect((await api.change(change_id)).status).toBe("rolled_back");
  });
});

test("a signature is left out of the entry if the intent changes during the apply", async () => {
  const adapter = scriptedAdapter();
  const intent = { principals: PRINCIPALS, policy: { signed_only: false, permissions: PERMISSIONS } };
  const deps = await openDeps({ adapter, intent });
  const api = makeCore(deps);
  const change_id = await api.bring("approved");
  const fields = await signFields(api, OPS, "apply", { change_id, actor: "ops" });
  const [applyBegan, mayEnd] = [makeBarrier(), makeBarrier()];
  adapter.on("apply", () => (applyBegan.open(), mayEnd.opened), 1);
  const applying = api.post("apply", fields);
  await applyBegan.opened;
  const after = await restartDeps(deps, { adapter, intent: { ...intent, update_epoch: 99 } });
  deps.product = after.product!;
  mayEnd.open();
  // The entry names the new intent, so a signature under the earlier one must not appear in it.
  const detail = parseDetail(await applying);
  expect(detail).toMatchObject({ actor: "ops", authenticated: "signature" });
  expect(detail).not.toHaveProperty("proof");
});
