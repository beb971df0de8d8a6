/** Changes that were decided under one intent, and are applied under a later intent. */
import { expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import { PROPOSAL } from "../../support/client.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { restartDeps } from "../../support/deps.ts";
import { core, makeCore, type Core } from "../../support/core.ts";

type Rules = Record<string, unknown>;
const coreWithPolicy = (rules: Rules) => core({ intent: { policy: rules } });

/** The same service after a restart under another policy. */
const restartWithPolicy = async (api: Core, rules: Rules): Promise<Core> =>
  makeCore(await restartDeps(api.deps, { intent: { policy: rules } }));

test.each([
  ["an approver was removed from the list", { approvers: ["bo"] }, "consent_incomplete"],
  ["self-approval was forbidden", { self_approval: false }, "consent_incomplete"],
  ["the target was forbidden", { forbidden_targets: ["ui.*"] }, "forbidden_target"],
])("apply is rejected after %s; a dry run only if the target is forbidden", async (_, rules, code) => {
  const before = await coreWithPolicy({});
  const change_id = await before.bring("approved", { proposer: "ana" });
  const api = await restartWithPolicy(before, rules);
  const entries = await api.audit();
  expect(await api.post("apply", { change_id })).toMatchObject({ status: 403, body: { code } });
  const dryRun = await api.post("apply", { change_id, dry_run: true });
  expect(dryRun.status).toBe(code === "forbidden_target" ? 403 : 200);
  expect((await api.change(change_id)).status).toBe("approved");
  expect(await api.audit()).toEqual(entries);
  expect((await api.change(change_id)).gates.filter(({ state }) => state === "block")).toHaveLength(1);
  expect((await (await restartWithPolicy(api, {})).act("apply", change_id)).status).toBe(200);
});

test("the person who requested a model's draft counts as its proposer, and may not approve it", async () => {
  const api = await coreWithPolicy({ self_approval: false });
  const draft = { ...PROPOSAL, kind: "config", proposer: "llm:m1" } as const;
  const filed = (await submitDraft(api.deps, draft, { asked_by: "Ana", message_id: "msg_1" })) as Change;
  expect(await api.change(filed.change_id)).toMatchObject({ asked_by: "Ana", proposer_kind: "model" });
  const approve = (approver: string) => api.post("approve", { change_id: filed.change_id, approver });
  expect(await approve("ana")).toMatchObject({ status: 403, body: { code: "self_approval_forbidden" } });
  expect((await approve("bo")).body.status).toBe("approved");
});

test("a consent still counts when the list spells its approver in another Unicode form", async () => {
  const before = await coreWithPolicy({});
  const change_id = await before.bring("approved");
  const api = await restartWithPolicy(before, { approvers: ["ＡＮＡ"] });
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("apply is rejected when one of two approvers was removed from the list", async () => {
  const before = await coreWithPolicy({ required_approvers: { standard: 2 } });
  const change_id = await before.bring("pending_consent");
  for (const approver of ["ana", "bo"]) await before.post("approve", { change_id, approver });
  const api = await restartWithPolicy(before, { approvers: ["ana"] });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
});

test("a quorum lowered after the proposal is not lowered for the pending change", async () => {
  const before = await coreWithPolicy({ required_approvers: { standard: 2 } });
  const { change_id } = await before.propose();
  const api = await restartWithPolicy(before, { required_approvers: { standard: 1 } });
  expect((await api.post("approve", { change_id, approver: "ana" })).body.status).toBe("pending_consent");
  expect((await api.post("approve", { change_id, approver: "bo" })).body.status).toBe("approved");
});

test("a quorum raised after the proposal is required of a pending change", async () => {
  const before = await coreWithPolicy({});
  const { change_id } = await before.propose();
  const api = await restartWithPolicy(before, { required_approvers: { standard: 2 } });
  const { body } = await api.post("approve", { change_id, approver: "ana" });
  expect(body.status).toBe("pending_consent");
  expect(JSON.parse(body.audit_entry.detail).progress).toBe("1 of 2");
  expect((await api.post("approve", { change_id, approver: "ana" })).body.code).toBe("already_decided");
  expect((await api.post("approve", { change_id, approver: "bo" })).body.status).toBe("approved");
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("a quorum raised after the approval is required at the apply", async () => {
  const before = await coreWithPolicy({});
  const change_id = await before.bring("approved");
  const api = await restartWithPolicy(before, { required_approvers: { standard: 2 } });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
  expect((await api.change(change_id)).gates).toContainEqual(
    expect.objectContaining({ gate: "consent", state: "block", message: "1 of 2 consents" }),
  );
});

test("a rollback is never rejected because of the intent", async () => {
  const before = await coreWithPolicy({});
  const change_id = await before.bring("applied", { proposer: "ana" });
  const api = await restartWithPolicy(before, {
    approvers: ["nobody"],
    self_approval: false,
    forbidden_targets: ["*"],
  });
  expect((await api.act("rollback", change_id)).status).toBe(200);
});

test("a new time limit applies to pending changes too", async () => {
  const before = await coreWithPolicy({});
  const { change_id } = await before.propose();
  before.deps.clock.advance(2 * HOUR);
  const api = await restartWithPolicy(before, { consent_ttl_hours: 1 });
  // An expiry requires a second clock sample that confirms the two hours.
  await pass(api.deps, 0);
  expect((await api.act("approve", change_id)).body.code).toBe("illegal_transition");
  expect((await api.change(change_id)).resolution).toBe("expired");
});

test("each decision records the hash of its manifest", async () => {
  const before = await coreWithPolicy({});
  const { change_id } = await before.propose();
  const api = await restartWithPolicy(before, { consent_ttl_hours: 1 });
  await api.must("approve", change_id);
  const hashes = [before, api].map(({ deps }) => deps.product!.manifest_hash);
  const recorded = (await api.steps()).map(({ detail }) => JSON.parse(detail).manifest_hash);
  expect(recorded).toEqual(hashes);
  expect(hashes[0]).not.toBe(hashes[1]);
});

test("a proposal for a forbidden target is logged, and creates no change", async () => {
  const api = await coreWithPolicy({ forbidden_targets: ["billing.*"] });
  expect((await api.post("propose", { ...PROPOSAL, target: "billing.rate", proposer: "pat" })).status).toBe(403);
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "proposal_refused", change_id: "", tenant: "t1" });
  expect(JSON.parse(entry.detail)).toEqual({
    code: "forbidden_target",
    kind: "config",
    target: "billing.rate",
    proposer: "pat",
    manifest_hash: api.deps.product!.manifest_hash,
    actor: "pat",
    authenticated: "claimed",
  });
  expect(await api.deps.store.list("changes", { limit: 10 })).toEqual([]);
});
