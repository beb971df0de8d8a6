/** Offered actions of a change: an action is offered to a caller if and only if it would succeed. */
import { expect, test } from "vitest";
import { change } from "../../../handlers/product/change.ts";
import type { Actor } from "../../../lib/changes/rules/actor.ts";
import type { OfferedAction } from "../../../lib/changes/rules/offers.ts";
import { readChangeView } from "../../../lib/changes/views.ts";
import { PROPOSAL } from "../../support/client.ts";
import { core, type Core } from "../../support/core.ts";
import { AGENTS, AS_OTHER, rolloutClient, openRollout } from "../../support/rollouts.ts";
import { passkey } from "../../support/passkeys.ts";
import type { Fields } from "../../support/requests.ts";
import { person } from "../../support/signed.ts";

const POLICY = {
  approvers: ["ana", "bo", "cy"],
  self_approval: false,
  required_approvers: { standard: 2 },
  owners: [{ targets: ["billing.*"], approvers: ["fin"], required: 1 }],
  break_glass: { approvers: ["sam"], required: 1, review_hours: 1 },
  permissions: { apply: ["bo"], rollback: ["cy"] },
};

type Step = [path: string, fields: Fields];
const approveBy = (approver: string, more: Fields = {}): Step => ["approve", { approver, ...more }];
const APPROVED = [approveBy("ana"), approveBy("cy")];
const EMERGENCY = approveBy("sam", { emergency: "true", note: "fire" });
const APPLY: Step = ["apply", { actor: "bo" }];
/** The requests that bring a change to each state. */
const STATES: Record<string, Step[]> = {
  pending: [],
  "partly approved": [approveBy("ana")],
  approved: APPROVED,
  "approved in an emergency": [EMERGENCY],
  "applied in an emergency": [EMERGENCY, APPLY],
  applied: [...APPROVED, APPLY],
  "rolled back": [...APPROVED, APPLY, ["rollback", { actor: "cy" }]],
  denied: [["deny", { approver: "bo" }]],
};

/** The request by which a person performs each action. */
const REQUESTS: Partial<Record<OfferedAction, (name: string) => Step>> = {
  approve: (approver) => ["approve", { approver }],
  deny: (approver) => ["deny", { approver }],
  withdraw: (proposer) => ["withdraw", { proposer }],
  revoke: (approver) => ["revoke", { approver }],
  approve_emergency: (approver) => ["approve", { approver, emergency: "true", note: "fire" }],
  review: (approver) => ["review", { approver, verdict: "accepted" }],
  apply: (actor) => ["apply", { actor }],
  rollback: (actor) => ["rollback", { actor }],
};

const readOffers = async (
  api: Core,
  change_id: string,
  actor: string | null,
  authenticated: Actor["authenticated"] = null,
) => (await readChangeView(api.deps, change_id, { actor, authenticated })).caller!;

async function bringThrough(api: Core, target: string, steps: readonly Step[]): Promise<string> {
  const { change_id } = await api.propose({ target, proposer: "pat", summary: "One" });
  for (const [path, fields] of steps) expect((await api.post(path, { change_id, ...fields })).status, path).toBe(200);
  return change_id;
}

test.each([
  ["ui.banner", Object.keys(STATES), ["pat", "ana", "BO ", "cy", "sam", "eve"]],
  ["billing.rate", ["pending", "partly approved"], ["fin", "ana"]],
])("an action on %s is offered if and only if it succeeds", async (target, states, names) => {
  const api = await core({ intent: { policy: POLICY } });
  let offeredCount = 0;
  for (const state of states)
    for (const name of names) {
      // Rejected requests change nothing, so they all use one change.
      const shared = await bringThrough(api, target, STATES[state]!);
      const { may, may_not } = await readOffers(api, shared, name);
      expect(may_not.every(({ action, reasons }) => !may.includes(action) && reasons.length > 0)).toBe(true);
      for (const [action, makeStep] of Object.entries(REQUESTS)) {
        const isOffered = may.includes(action as OfferedAction);
        const change_id = isOffered ? await bringThrough(api, target, STATES[state]!) : shared;
        const [path, fields] = makeStep(name);
        const { status, body } = await api.post(path, { change_id, ...fields });
        expect(status === 200, `${state}: ${action} by ${name}, ${body.code}`).toBe(isOffered);
        offeredCount += Number(isOffered);
      }
    }
  expect(offeredCount).toBeGreaterThan(names.length);
});

test("an action that is not allowed has reasons, and impossible actions are left out", async () => {
  const api = await core({ intent: { policy: POLICY } });
  const change_id = await bringThrough(api, "ui.banner", [approveBy("ana")]);
  const reasonsByAction = async (name: string) =>
    Object.fromEntries(
      (await readOffers(api, change_id, name)).may_not.map(({ action, reasons }) => [action, reasons]),
    );
  expect(await reasonsByAction("ana")).toMatchObject({
    approve: ["ana has approved this change already"],
    apply: ["1 of 2 consents", "apply is for bo, and ana is not one of them"],
    withdraw: ["only pat, who proposed this change, may withdraw it"],
  });
  expect((await reasonsByAction("pat")).approve).toEqual(["pat is not among the intent's approvers"]);
  expect(await reasonsByAction("ana")).not.toHaveProperty("rollback");
  // Without a name, each action is offered that some person may perform.
  expect((await readOffers(api, change_id, null)).may).toEqual(["approve", "deny", "withdraw", "revoke"]);
});

test("a person without a key is not offered approval under signed_only", async () => {
  const policy = { signed_only: true };
  const api = await core({ intent: { principals: { ana: person(passkey()) }, policy } });
  const { change_id } = await api.propose({ target: "ui.banner", proposer: "pat" });
  expect((await readOffers(api, change_id, "ana")).may).toEqual(["approve", "deny"]);
  const { may, may_not } = await readOffers(api, change_id, "bo");
  expect(may).not.toContain("approve");
  expect(may_not.find(({ action }) => action === "approve")!.reasons[0]).toMatch(/no key of bo/);
});

test("an agent is offered only the withdrawal of its own change", async () => {
  const api = await core({ intent: { principals: AGENTS } });
  const { change_id } = (await api.post("propose", PROPOSAL, AS_OTHER)).body;
  const offers = async (actor: string) => (await readOffers(api, change_id, actor, "agent")).may;
  expect(await offers("agent:other")).toEqual(["withdraw"]);
  expect(await offers("agent:analytics")).toEqual([]);
  expect((await api.post("approve", { change_id, approver: "ana" })).status).toBe(200);
  expect(await offers("agent:other"), "not even the apply that is open to all").toEqual([]);
});

test("the offered actions of a rollout depend on its state and on the caller", async () => {
  const policy = {
    approvers: ["ana", "bo"],
    self_approval: false,
    permissions: { freeze: ["ops"], rollback: ["ops"] },
  };
  const { api, change_id } = await openRollout({ policy, proposal: { proposer: "pat" } });
  const { act } = rolloutClient(api, change_id);
  const stageActions = async (name: string) =>
    (await readOffers(api, change_id, name, "proxy")).may.filter((action) =>
      ["hold", "resume", "advance"].includes(action),
    );
  expect(await Promise.all(["ana", "ops", "eve"].map(stageActions))).toEqual([["hold"], ["hold"], []]);
  expect((await act(0, "hold")).status).toBe(200);
  expect(await Promise.all(["ana", "ops", "eve"].map(stageActions))).toEqual([["resume"], [], []]);
});

test("a person parameter other than the proxy's person is rejected", async () => {
  const api = await core({ identityHeader: "x-person", intent: { policy: POLICY } });
  const getChange = change(api.deps);
  const change_id = (
    await api.post(
      "propose",
      { target: "ui.banner", tenant_id: "t1", kind: "config", summary: "One" },
      { "x-person": "pat" },
    )
  ).body.change_id;
  const readChange = async (query: string) => {
    const request = new Request(`http://here/api/product/changes/${change_id}${query}`, {
      headers: { "x-person": "ana" },
    });
    return (await getChange(request)).json();
  };
  expect((await readChange("")).caller).toMatchObject({ name: "ana", may: ["approve", "deny"] });
  expect((await readChange("?person=bo")).code).toBe("identity_mismatch");
});
