/** A decision under one intent takes effect under another. */
import { expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import { PROPOSAL } from "../../support/client.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { restarted } from "../../support/deps.ts";
import { core, makeCore, type Core } from "../../support/core.ts";

type Rules = Record<string, unknown>;
const under = (rules: Rules) => core({ intent: { policy: rules } });

/** The same service, restarted with other rules. */
const now = async (api: Core, rules: Rules): Promise<Core> =>
  makeCore(await restarted(api.deps, { intent: { policy: rules } }));

test.each([
  ["an approver who was taken off the list", { approvers: ["bo"] }, "consent_incomplete"],
  ["a proposer's own consent that counts no more", { self_approval: false }, "consent_incomplete"],
  ["a target that was forbidden since", { forbidden_targets: ["ui.*"] }, "forbidden_target"],
])("apply is refused for %s, and rehearsed unless the target itself is forbidden", async (_, rules, code) => {
  const before = await under({});
  const change_id = await before.bring("approved", { proposer: "ana" });
  const api = await now(before, rules);
  const entries = await api.audit();
  expect(await api.post("apply", { change_id })).toMatchObject({ status: 403, body: { code } });
  const rehearsed = await api.post("apply", { change_id, dry_run: true });
  expect(rehearsed.status).toBe(code === "forbidden_target" ? 403 : 200);
  expect((await api.change(change_id)).status).toBe("approved");
  expect(await api.audit()).toEqual(entries);
  expect((await api.change(change_id)).gates.filter(({ state }) => state === "block")).toHaveLength(1);
  expect((await (await now(api, {})).act("apply", change_id)).status).toBe(200);
});

test("who asked a model for its draft proposed it too, and may not approve it", async () => {
  const api = await under({ self_approval: false });
  const draft = { ...PROPOSAL, kind: "config", proposer: "llm:m1" } as const;
  const filed = (await submitDraft(api.deps, draft, { asked_by: "Ana", message_id: "msg_1" })) as Change;
  expect(await api.change(filed.change_id)).toMatchObject({ asked_by: "Ana", proposer_kind: "model" });
  const approve = (approver: string) => api.post("approve", { change_id: filed.change_id, approver });
  expect(await approve("ana")).toMatchObject({ status: 403, body: { code: "self_approval_forbidden" } });
  expect((await approve("bo")).body.status).toBe("approved");
});

test("an approver who is still on the list, written otherwise, counts", async () => {
  const before = await under({});
  const change_id = await before.bring("approved");
  expect((await (await now(before, { approvers: ["ＡＮＡ"] })).act("apply", change_id)).status).toBe(200);
});

test("one of two approvers taken away leaves too few", async () => {
  const before = await under({ required_approvers: { standard: 2 } });
  const change_id = await before.bring("pending_consent");
  for (const approver of ["ana", "bo"]) await before.post("approve", { change_id, approver });
  const api = await now(before, { approvers: ["ana"] });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
});

test("a quorum that was lowered since does not make a consent out of fewer", async () => {
  const before = await under({ required_approvers: { standard: 2 } });
  const { change_id } = await before.propose();
  const api = await now(before, { required_approvers: { standard: 1 } });
  expect((await api.post("approve", { change_id, approver: "ana" })).body.status).toBe("pending_consent");
  expect((await api.post("approve", { change_id, approver: "bo" })).body.status).toBe("approved");
});

test("a quorum that was raised since is asked for when one consents", async () => {
  const before = await under({});
  const { change_id } = await before.propose();
  const api = await now(before, { required_approvers: { standard: 2 } });
  const { body } = await api.post("approve", { change_id, approver: "ana" });
  expect(body.status).toBe("pending_consent");
  expect(JSON.parse(body.audit_entry.detail).progress).toBe("1 of 2");
  expect((await api.post("approve", { change_id, approver: "ana" })).body.code).toBe("already_decided");
  expect((await api.post("approve", { change_id, approver: "bo" })).body.status).toBe("approved");
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("a quorum that was raised since is asked for at the apply", async () => {
  const before = await under({});
  const change_id = await before.bring("approved");
  const api = await now(before, { required_approvers: { standard: 2 } });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
  expect((await api.change(change_id)).gates).toContainEqual(
    expect.objectContaining({ gate: "consent", state: "block", message: "1 of 2 consents" }),
  );
});

test("a rollback is never refused for the intent", async () => {
  const before = await under({});
  const change_id = await before.bring("applied", { proposer: "ana" });
  const api = await now(before, { approvers: ["nobody"], self_approval: false, forbidden_targets: ["*"] });
  expect((await api.act("rollback", change_id)).status).toBe(200);
});

test("a time limit that is new holds for what is pending", async () => {
  const before = await under({});
  const { change_id } = await before.propose();
  before.deps.clock.advance(2 * HOUR);
  const api = await now(before, { consent_ttl_hours: 1 });
  await pass(api.deps, 0);
  expect((await api.act("approve", change_id)).body.code).toBe("illegal_transition");
  expect((await api.change(change_id)).resolution).toBe("expired");
});

test("each decision records the manifest it was made under", async () => {
  const before = await under({});
  const { change_id } = await before.propose();
  const api = await now(before, { consent_ttl_hours: 1 });
  await api.must("approve", change_id);
  const hashes = [before, api].map(({ deps }) => deps.product!.manifest_hash);
  const recorded = (await api.steps()).map(({ detail }) => JSON.parse(detail).manifest_hash);
  expect(recorded).toEqual(hashes);
  expect(hashes[0]).not.toBe(hashes[1]);
});

test("a refused target stands in the log, and there is no change", async () => {
  const api = await under({ forbidden_targets: ["billing.*"] });
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
