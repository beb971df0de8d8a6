/** Changes that were applied under a mandate: later steps are checked against its bounds, and nothing is rolled back. */
import { expect, test } from "vitest";
import { app } from "../../../../handlers/index.ts";
import { readHead } from "../../../../lib/audit/chain.ts";
import { recoverAbandoned } from "../../../../lib/changes/operations/recover.ts";
import { decideRollouts } from "../../../../lib/changes/rollouts/decide_rollouts.ts";
import { gateAdapter } from "../../../../lib/targets/gate.ts";
import { routingAdapter } from "../../../../lib/targets/routing.ts";
import { HOUR, testClock } from "../../../support/clock.ts";
import {
  mandateClient,
  BOUNDS,
  MANDATE_INTENT,
  openWithMandates,
  SIGNERS,
  PRINCIPALS,
} from "../../../support/mandates.ts";
import { get } from "../../../support/requests.ts";
import { rewindingStore } from "../../../support/rewinding_store.ts";
import { AGENTS, rolloutClient, STAGES, totals } from "../../../support/rollouts.ts";

type MandateClient = ReturnType<typeof mandateClient>;

const STAGED = {
  ...MANDATE_INTENT,
  principals: { ...PRINCIPALS, "agent:analytics": AGENTS["agent:analytics"] },
  kpis: { conversion: { baseline: 1, target: 2 } },
  policy: {
    ...MANDATE_INTENT.policy,
    stages: { watch: ["conversion"], fed_by: ["agent:analytics"], max_allowed: { conversion: 0.05 } },
  },
};
const OTHER_TARGETS = { ...STAGED, policy: { ...STAGED.policy, mandates: { targets: ["cost.*"] } } };

const narrowTo = async (api: MandateClient, id: string, bounds: object): Promise<MandateClient> => {
  const reply = await api.decideOn("mandate_narrow", id, "ana", { narrow: bounds });
  expect(reply.status).toBe(200);
  return api;
};
/** Narrows the users to one, below the 50 of a proposal. */
const narrow = (api: MandateClient, id: string): Promise<MandateClient> => narrowTo(api, id, { max_affected_users: 1 });
/** Narrows the values to at most 103, below the proposed 104. */
const narrowValues = (api: MandateClient, id: string): Promise<MandateClient> =>
  narrowTo(api, id, { limits: { ...BOUNDS.limits, schema: { type: "number", maximum: 103 } } });

// The steps of STAGES are 1000 and 5000 of 10,000 users; each lasts at least 24 hours.
test.each([
  ["is unchanged", async (api: MandateClient) => api, 5000],
  ["is narrowed", narrow, 1000],
  ["is narrowed to other values", narrowValues, 1000],
  ["no longer matches the policy", async (api: MandateClient) => api.restart({ intent: OTHER_TARGETS }), 1000],
])("a rollout advances only if its mandate covers it: the mandate %s", async (_, changeMandate, share) => {
  const clock = testClock();
  const before = await openWithMandates({ intent: STAGED, clock });
  const id = await before.activate();
  const { change_id } = (await before.propose({ stages: STAGES })).body;
  expect((await before.apply(change_id)).status).toBe(200);
  const api = await changeMandate(before, id);
  clock.advance(25 * HOUR);
  const rollout = rolloutClient({ ...api.api, json: api.send } as never, change_id);
  const sample = { step: 0, kpi: "conversion", as_of: clock.iso(), ...totals(100_000, 1000) };
  expect((await rollout.feed([sample])).status).toBe(200);
  await decideRollouts(api.api.deps);
  expect((await api.api.get(`changes/${change_id}`)).body.exposure).toMatchObject({ share });
});

test.each([
  ["is unchanged", async (api: MandateClient) => api, "applied"],
  ["is narrowed", narrow, "approved"],
])(
  "an unanswered apply is recorded only if its mandate still covers it: the mandate %s",
  async (_, changeMandate, status) => {
    const clock = testClock();
    const api = await openWithMandates({ clock });
    const id = await api.activate();
    const { change_id } = (await api.propose()).body;
    api.target.system.resolve = async () => "open";
    api.target.faults.push("lost answer");
    expect((await api.apply(change_id)).status).toBe(502);
    await changeMandate(api, id);
    api.target.system.resolve = async () => "done";
    clock.advance(HOUR);
    await recoverAbandoned(api.api.deps);
    expect((await api.api.get(`changes/${change_id}`)).body).toMatchObject({ status });
  },
);

test("the gate of an applied change stays open after a revocation, but not after narrowing", async () => {
  const HEAD = "a".repeat(40);
  const readGate = async (api: MandateClient) =>
    (await (await app(api.api.deps)(get(`/api/gate?target=price.basic&tenant_id=t1&head=${HEAD}`))).json()) as object;
  const applyRelease = async () => {
    const routes = [{ name: "prices", match: ["price.*"], adapter: gateAdapter("prices") }];
    const api = await openWithMandates({
      adapter: routingAdapter(routes, { hash: "1", systems: [{ name: "prices" }] }),
    });
    const id = await api.activate({ limits: undefined });
    const { change_id } = (await api.propose({ value: { head: HEAD } })).body;
    expect((await api.apply(change_id)).status).toBe(200);
    return { api, id };
  };
  const ended = await applyRelease();
  await ended.api.decideOn("mandate_revoke", ended.id, "ana");
  expect(await readGate(ended.api)).toMatchObject({ state: "allowed" });
  const narrowed = await applyRelease();
  expect(await readGate(narrowed.api)).toMatchObject({ state: "allowed" });
  await narrow(narrowed.api, narrowed.id);
  expect(await readGate(narrowed.api)).not.toMatchObject({ state: "allowed" });
});

test("a change that was applied under a mandate before a loss can be restored after it", async () => {
  const rewinding = rewindingStore();
  const api = await openWithMandates({ store: rewinding.store });
  await api.activate();
  const { change_id } = (await api.propose()).body;
  expect((await api.apply(change_id)).status).toBe(200);
  const backup = await rewinding.copy();
  await api.send("kpi", { csat: 4.2 });
  await rewinding.goBack(backup);
  // This write finds that the entry is lost.
  await api.send("kpi", { csat: 4.2 });
  const { length, head } = (await readHead(api.api.deps.store))!;
  const signAndSend = async (path: string, decision: string, fields: object) => {
    const text = await api.statement(decision, "ana", fields);
    const { at } = JSON.parse(text) as { at: string };
    return api.send(path, { actor: "ana", ...fields, proof: SIGNERS["ana"]!.sign(text), at });
  };
  expect((await signAndSend("audit/accept-loss", "accept_loss", { note: "restored", length, head })).status).toBe(200);
  expect((await signAndSend("unfreeze", "unfreeze", { note: "restored" })).status).toBe(200);
  // Another program edits the value that the change set.
  api.target.overwrite({ tenant_id: "t1", target: "price.basic", kind: "config", value: null } as never, "777");
  expect(await signAndSend("restore", "restore", { change_id })).toMatchObject({ status: 200 });
});
