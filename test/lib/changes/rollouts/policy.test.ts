/** Rules of the intent for rollouts: allowed plans, minor rollouts, guardrails, and signed actions. */
import { expect, test } from "vitest";
import { PROPOSAL } from "../../../support/client.ts";
import { core, makeCore } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import { sshSigner } from "../../../support/passkeys.ts";
import { rolloutClient, AGENTS, AS_OTHER, openRollout, STAGES, totals } from "../../../support/rollouts.ts";
import { person, proofFields, requestStatement } from "../../../support/signed.ts";

const WATCHED = { kpi: "incident_rate", kind: "binary", good: "down", allowed: 0.01 };
const plan = (fields: object = {}) => JSON.stringify({ ...STAGES, watch: [WATCHED], ...fields });

/** `stages` is the rule of the intent, `fields` are those of the proposed plan. */
test.each<[of: string, stages: object, fields: object]>([
  ["another target", { targets: ["limits.*"] }, {}],
  ["a missing KPI that every rollout must watch", { watch: ["csat"] }, {}],
  ["another feeder", { fed_by: ["agent:other"] }, {}],
  ["a larger allowance", { max_allowed: { incident_rate: 0.005 } }, {}],
  ["an allowance of another kind", { max_allowed: { incident_rate: { relative: 0.1 } } }, {}],
  ["a feeder that is no agent", {}, { fed_by: "ana" }],
  ["shares that do not grow", {}, { steps: [STAGES.steps[1], STAGES.steps[0]] }],
  ["a KPI twice", {}, { watch: [WATCHED, WATCHED] }],
])("invalid stages, or stages that policy.stages does not allow, are 400: %s", async (_, stages, fields) => {
  const api = await core({ intent: { principals: AGENTS, policy: { stages } } });
  const { status, body } = await api.post("propose", { ...PROPOSAL, value: "1", stages: plan(fields) });
  expect([status, body.code]).toEqual([400, "invalid_field"]);
  expect(body.fields[0].field).toMatch(/^stages/);
});

test("a rollout is minor only where the intent names watched KPIs, feeders and allowances", async () => {
  const bounds = { watch: ["incident_rate"], fed_by: ["agent:analytics"], max_allowed: { incident_rate: 0.01 } };
  const minor = { kinds: ["config"], targets: ["*"], max_affected_users: 50, max_risk: "low", agents: true };
  const tierUnder = async (stages: object) => {
    const api = await core({ intent: { principals: AGENTS, policy: { minor, stages } } });
    const fields = {
      ...PROPOSAL,
      value: "1",
      tier: "minor",
      risk: "low",
      reversible: true,
      affected_users: 5,
      stages: plan(),
    };
    const { body } = await api.post("propose", fields, AS_OTHER);
    return body.tier;
  };
  expect(await tierUnder(bounds)).toBe("minor");
  for (const name of Object.keys(bounds)) expect(await tierUnder({ ...bounds, [name]: undefined })).toBe("standard");
});

test.each([
  [true, { incident_rate: 0.05 }, "applied"],
  [true, {}, "rolled_back"],
  [false, { incident_rate: 0.05 }, "rolled_back"],
])(
  "with replaces_guardrails %s and max_allowed %j a bad KPI leaves the rollout %s",
  async (replaces_guardrails, max_allowed, status) => {
    const policy = {
      guardrails: [{ kpi: "incident_rate", max_regression: 0.02, action: "rollback" }],
      stages: { replaces_guardrails, max_allowed },
    };
    const proposal = { kpi: "incident_rate", expected_delta_k: 0.01 };
    const api = await core({ intent: { principals: AGENTS, policy } });
    await api.post("kpi", { incident_rate: 0.03 });
    const change_id = await api.bring("applied", { ...proposal, value: "1", stages: plan() });
    await api.post("kpi", { incident_rate: 0.09 });
    await api.cycle();
    expect((await api.change(change_id)).status).toBe(status);
  },
);

test("a signature on a rollout is required of people with keys, for one step and action", async () => {
  const ANA = sshSigner();
  const principals = { ...AGENTS, ana: person(ANA), eve: { kind: "person" } };
  const policy = { signed_only: false };
  const { api, change_id } = await openRollout();
  const signing = makeCore(await restartDeps(api.deps, { intent: { principals, policy } }));
  const { act, exposure, detail } = rolloutClient(signing, change_id);
  // By ana, who has a key.
  expect((await act(0, "hold")).body.code).toBe("proof_required");
  const sign = async (action: string) => {
    const fields = { change_id, step: 0, action };
    const statement = await requestStatement(signing, { decision: "stage", approver: "ana", ...fields });
    return { change_id, step: 0, actor: "ana", ...proofFields(ANA, statement) };
  };
  const hold = await sign("hold");
  expect((await signing.post("stage", { ...hold, action: "hold" })).status).toBe(200);
  expect((await signing.post("stage", { ...hold, action: "resume" })).body.code).toBe("proof_invalid");
  expect(await detail("stage_held")).toMatchObject({ reason: "by_hand", key: expect.stringMatching(/^SHA256:/) });
  expect((await act(0, "resume", "ana")).body.code).toBe("proof_required");
  expect((await signing.post("stage", { ...(await sign("resume")), action: "resume" })).status).toBe(200);
  expect((await exposure())!.waits_for).toBe("resumed");
});

test("the next step waits while the newest resume or manual advance has no valid signature", async () => {
  const [FIRST_KEY, OTHER_KEY] = [sshSigner(), sshSigner()];
  const steps = [
    { share: 1000, advance: "manual", min_hours: 1 },
    { share: 5000, advance: "proven", min_hours: 1 },
  ];
  const { api, change_id } = await openRollout({ stages: { steps } });
  const withKeyOfBo = async (signer: typeof FIRST_KEY) => {
    const principals = { ...AGENTS, bo: person(signer), eve: { kind: "person" } };
    const signing = makeCore(await restartDeps(api.deps, { intent: { principals, policy: { signed_only: false } } }));
    const rollout = rolloutClient(signing, change_id);
    const act = async (step: number, action: string) => {
      const fields = { change_id, step, action };
      const statement = await requestStatement(signing, { decision: "stage", approver: "bo", ...fields });
      return (await signing.post("stage", { ...fields, actor: "bo", ...proofFields(signer, statement) })).status;
    };
    const feedAndReadExposure = async () => {
      await rollout.feedNow({ step: 1, ...totals(100_000, 5000) });
      const { step, waits_for } = (await rollout.exposure())!;
      return [step, waits_for];
    };
    return { ...rollout, act, feedAndReadExposure };
  };
  const first = await withKeyOfBo(FIRST_KEY);
  first.passHours(2);
  await first.feedNow();
  expect(await first.act(0, "advance")).toBe(200);
  first.passHours(2);
  // The intent no longer lists the key that signed the advance.
  const second = await withKeyOfBo(OTHER_KEY);
  expect(await second.feedAndReadExposure()).toEqual([1, "proof_invalid"]);
  expect(await second.detail("stage_held")).toMatchObject({ decision: "hold", error: expect.stringMatching("of bo") });
  expect([await second.act(1, "hold"), await second.act(1, "resume")]).toEqual([200, 200]);
  // A resume needs a valid signature as well.
  expect(await (await withKeyOfBo(FIRST_KEY)).feedAndReadExposure()).toEqual([1, "proof_invalid"]);
  expect(await (await withKeyOfBo(OTHER_KEY)).feedAndReadExposure()).toEqual([2, null]);
});
