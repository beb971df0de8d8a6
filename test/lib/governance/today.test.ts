/** What was decided under one intent, and is carried out under another. */
import { expect, test } from "vitest";
import { PROPOSAL } from "../../support/client.ts";
import { HOUR } from "../../support/clock.ts";
import { restarted } from "../../support/deps.ts";
import { core, coreOf, type Core } from "../../support/core.ts";

type Rules = Record<string, unknown>;
const under = (rules: Rules) => core({ intent: { policy: rules } });

/** The same service, started anew with other rules. */
const now = async (api: Core, rules: Rules): Promise<Core> =>
  coreOf(await restarted(api.deps, { intent: { policy: rules } }));

test.each([
  ["an approver who was taken off the list", { approvers: ["bo"] }, "not_an_approver"],
  ["a proposer's own consent that counts no more", { self_approval: false }, "not_an_approver"],
  ["a target that was forbidden since", { forbidden_targets: ["ui.*"] }, "forbidden_target"],
])("apply is refused for %s, and may be rehearsed no more either", async (_, rules, code) => {
  const before = await under({});
  const change_id = await before.bring("approved", { proposer: "ana" });
  const api = await now(before, rules);
  const entries = await api.audit();
  for (const dry_run of [false, true])
    expect(await api.post("apply", { change_id, dry_run })).toMatchObject({ status: 403, body: { code } });
  expect((await api.change(change_id)).status).toBe("approved");
  expect(await api.audit()).toEqual(entries);
  expect((await api.change(change_id)).gates.filter(({ state }) => state === "block")).toHaveLength(1);
  expect((await (await now(api, {})).act("apply", change_id)).status).toBe(200);
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
  expect(await api.act("apply", change_id)).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
});

test.each([
  ["raised", 1, 2],
  ["lowered", 2, 1],
])("required_approvers is fixed at the proposal, also when it is %s", async (_, then, today) => {
  const before = await under({ required_approvers: { standard: then } });
  const { change_id } = await before.propose();
  const api = await now(before, { required_approvers: { standard: today } });
  const { body } = await api.act("approve", change_id);
  expect(body.status).toBe(then === 1 ? "approved" : "pending_consent");
  expect(body.change.required_approvers).toBe(then);
  expect((await api.propose({ target: "ui.other" })).required_approvers).toBe(today);
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
