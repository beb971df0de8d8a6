/** Apply and rollback through an adapter: the called methods, the logged entries, and the results of failures. */
import { expect, test } from "vitest";
import { serviceActor } from "../../../../lib/changes/rules/actor.ts";
import type { Command } from "../../../../lib/changes/rules/command.ts";
import { runTransaction } from "../../../../lib/changes/transaction.ts";
import type { Action, Reachable } from "../../../support/client.ts";
import { fails, type Script, scriptedAdapter } from "../../../support/scripted_adapter.ts";
import { PROPOSAL } from "../../../support/client.ts";
import { core } from "../../../support/core.ts";
import { chainFault } from "../../../support/independent_chain.ts";

const CAUSE = "EACCES /etc/product/secret.json";

/** Opens a service with one change, whose earlier adapter calls are not listed. */
async function openWithChange(status: Reachable) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring(status);
  adapter.calls.length = 0;
  return { adapter, api, change_id };
}

test("an apply calls validate, apply and verify, and logs the result", async () => {
  const { adapter, api, change_id } = await openWithChange("approved");
  const { status, body } = await api.act("apply", change_id);
  expect([status, body.status, body.adapter]).toEqual([200, "applied", { name: "scripted", result: "applied" }]);
  expect(adapter.calls).toEqual(["validate", "apply", "verify"]);
  const entry = (await api.audit()).at(-1);
  expect(entry).toEqual(body.audit_entry);
  const { digest } = body.change;
  const { manifest_hash } = api.deps.product!;
  expect(JSON.parse(entry.detail)).toMatchObject({ status: "applied", adapter: body.adapter, digest, manifest_hash });
});

test("a rollback calls verify, rollback and verify again", async () => {
  const { adapter, api, change_id } = await openWithChange("applied");
  const { status, body } = await api.act("rollback", change_id);
  expect([status, body.status, body.adapter.result]).toEqual([200, "rolled_back", "rolled_back"]);
  expect(adapter.calls).toEqual(["verify", "rollback", "verify"]);
  expect(adapter.host.get(change_id)).toBe("rolled_back");
});

test("the reply has the result and the details that the adapter returned", async () => {
  const { adapter, api, change_id } = await openWithChange("applied");
  adapter.on("rollback", () => ({ result: "superseded", detail: { by: "chg_9" } }));
  adapter.on("verify", () => "rolled_back");
  const { body } = await api.act("rollback", change_id);
  expect(body.adapter).toEqual({ name: "scripted", result: "superseded", detail: { by: "chg_9" } });
});

test("a change whose apply failed a thousand times can be revoked but not applied", async () => {
  const { api, adapter, change_id } = await openWithChange("approved");
  const failed = { type: "fail", operation: "apply", circumstance: { stage: "apply", error: "away", host: "absent" } };
  const fail = (times: number) =>
    runTransaction<void>(api, async (transaction) => {
      let record = await transaction.change(change_id);
      for (let time = 0; time < times; time++)
        record = transaction.execute(record, failed as Command, serviceActor()).record;
    });
  // 999 failures, in transactions of at most 24.
  for (let failures = 0; failures < 984; failures += 24) await fail(24);
  await fail(15);
  // Two of these entries are no failures, so the limit is not reached yet.
  expect((await api.change(change_id)).audit_entries).toHaveLength(1001);
  adapter.on("apply", fails("away"));
  expect((await api.act("apply", change_id)).body).toMatchObject({ status: 502, code: "adapter_failed" });
  const before = await api.audit();
  expect((await api.act("apply", change_id)).body).toMatchObject({ status: 409, code: "too_many_attempts" });
  expect(await api.audit()).toEqual(before);
  expect((await api.act("revoke", change_id)).status).toBe(200);
});

type Failure = [
  title: string,
  action: Action,
  script: (adapter: ReturnType<typeof scriptedAdapter>) => void,
  expected: { stage: string; host: string; calls: string[] },
];

/** Marks the change as applied on the target system, and then throws. */
const failAfterApplying =
  (host: Map<string, unknown>): Script =>
  ({ change_id }) => {
    host.set(change_id, "applied");
    throw new Error(CAUSE);
  };

/** The failures. A number after a script is the number of calls that it answers; without one it answers all. */
const FAILURES: Failure[] = [
  [
    "validate fails",
    "apply",
    (adapter) => adapter.on("validate", fails(CAUSE)),
    { stage: "validate", host: "absent", calls: ["validate", "verify"] },
  ],
  [
    "apply fails before the value is set",
    "apply",
    (adapter) => adapter.on("apply", fails(CAUSE)),
    { stage: "apply", host: "absent", calls: ["validate", "apply", "verify"] },
  ],
  [
    "apply fails after the value is set",
    "apply",
    (adapter) => adapter.on("apply", failAfterApplying(adapter.host)),
    { stage: "apply", host: "rolled_back", calls: ["validate", "apply", "verify", "rollback", "verify"] },
  ],
  [
    "apply fails after the value is set, and so does the rollback",
    "apply",
    (adapter) => (adapter.on("apply", failAfterApplying(adapter.host)), adapter.on("rollback", fails(CAUSE))),
    { stage: "apply", host: "applied", calls: ["validate", "apply", "verify", "rollback", "verify"] },
  ],
  [
    "verify reports absent after apply",
    "apply",
    (adapter) => adapter.on("verify", () => "absent"),
    { stage: "verify", host: "absent", calls: ["validate", "apply", "verify", "verify"] },
  ],
  [
    "verify reports unknown after apply",
    "apply",
    (adapter) => adapter.on("verify", () => "unknown", 2),
    { stage: "verify", host: "rolled_back", calls: ["validate", "apply", "verify", "verify", "rollback", "verify"] },
  ],
  [
    "verify fails after apply, and the rollback succeeds",
    "apply",
    (adapter) => adapter.on("verify", fails(CAUSE), 2),
    { stage: "verify", host: "rolled_back", calls: ["validate", "apply", "verify", "verify", "rollback", "verify"] },
  ],
  [
    "verify always fails after apply",
    "apply",
    (adapter) => adapter.on("verify", fails(CAUSE)),
    { stage: "verify", host: "unknown", calls: ["validate", "apply", "verify", "verify", "rollback", "verify"] },
  ],
  [
    "rollback fails",
    "rollback",
    (adapter) => adapter.on("rollback", fails(CAUSE)),
    { stage: "rollback", host: "applied", calls: ["verify", "rollback", "verify"] },
  ],
  [
    "the target system still shows the change after rollback",
    "rollback",
    (adapter) => adapter.on("verify", () => "applied"),
    { stage: "verify", host: "applied", calls: ["verify", "rollback", "verify"] },
  ],
  [
    "verify fails after rollback",
    "rollback",
    (adapter) => adapter.on("verify", fails(CAUSE)),
    { stage: "verify", host: "unknown", calls: ["verify", "rollback", "verify"] },
  ],
];

test.each(FAILURES)(
  "%s: 502, the status is unchanged, the failure is logged, and a retry is possible",
  async (_, action, script, expected) => {
    const initialStatus = action === "apply" ? "approved" : "applied";
    const { adapter, api, change_id } = await openWithChange(initialStatus);
    const before = await api.audit();
    script(adapter);
    const { status, body, text } = await api.act(action, change_id);
    expect([status, body.code]).toEqual([502, "adapter_failed"]);
    expect(body).toMatchObject({
      stage: expected.stage,
      host: expected.host,
      current_status: initialStatus,
      change_id,
    });
    expect(text.replace(JSON.stringify(body.audit_entry), "")).not.toContain(CAUSE);
    expect(adapter.calls).toEqual(expected.calls);

    const entries = await api.audit();
    expect(entries.slice(0, -1)).toEqual(before);
    const failure = entries.at(-1);
    expect(failure).toMatchObject({ event_type: `change_${action}_failed`, change_id, tenant: "t1" });
    const { stage, host } = expected;
    expect(JSON.parse(failure.detail)).toMatchObject({
      stage,
      host,
      status: initialStatus,
      error: expect.stringMatching(/\S/),
    });
    expect(await api.change(change_id)).toMatchObject({
      status: initialStatus,
      allowed_actions: action === "apply" ? ["apply", "revoke"] : ["rollback"],
    });

    adapter.removeScripts();
    // A rollback that the target system has carried out is not repeated.
    const isCarriedOut = action === "rollback" && adapter.host.get(change_id) === "rolled_back" && host === "unknown";
    expect((await api.act(action, change_id)).status).toBe(isCarriedOut ? 400 : 200);
    expect((await api.change(change_id)).status).toBe(action === "apply" ? "applied" : "rolled_back");
    expect(chainFault(await api.audit())).toBeNull();
  },
);

test("no part of the adapter's error reaches the client of a failed apply", async () => {
  const { adapter, api, change_id } = await openWithChange("approved");
  adapter.on("apply", fails(CAUSE));
  expect((await api.act("apply", change_id)).text).not.toContain("secret.json");
  expect(JSON.parse((await api.audit()).at(-1).detail).error).toBe(CAUSE);
});

test("a change that the adapter rejects is 400 and logged, and the target system is not changed", async () => {
  const { adapter, api, change_id } = await openWithChange("approved");
  adapter.on("validate", () => ({ ok: false, reason: "banner must be text" }));
  const { status, body } = await api.act("apply", change_id);
  expect([status, body.code]).toEqual([400, "adapter_rejected"]);
  expect(body.error).toContain("banner must be text");
  expect(adapter.calls).not.toContain("apply");
  const entry = (await api.audit()).at(-1);
  expect(entry.event_type).toBe("change_apply_failed");
  expect(JSON.parse(entry.detail)).toMatchObject({ stage: "validate", rejected: true, host: "absent" });
  expect((await api.change(change_id)).status).toBe("approved");
});

test("a dry run of an apply validates, previews the result and changes nothing", async () => {
  const { adapter, api, change_id } = await openWithChange("approved");
  const before = [await api.change(change_id), await api.audit()];
  const { status, body } = await api.post("apply", { change_id, dry_run: 1 });
  expect(status).toBe(200);
  expect(body).toMatchObject({ dry_run: true, status: "approved", audit_entry: null });
  expect(body.adapter).toEqual({ name: "scripted", result: "valid", host: "absent", preview: { sets: null } });
  expect(adapter.calls).toEqual(["validate", "verify"]);
  expect([await api.change(change_id), await api.audit()]).toEqual(before);
});

test("a dry run of a rollback names a change that was rolled back meanwhile", async () => {
  const api = await core({ adapter: scriptedAdapter() });
  const [first, second] = [await api.bring("applied"), await api.bring("applied")];
  const preview = async () => (await api.post("rollback", { change_id: second, dry_run: 1 })).body.adapter.preview;
  expect(await preview()).toEqual({ target_owner: second });
  await api.must("rollback", first);
  expect(await preview()).toEqual({ target_owner: second, passes: first });
});

test("a dry run of a rollback names the change that the apply replaced", async () => {
  const api = await core({ adapter: scriptedAdapter() });
  const atConsent = await api.bring("applied");
  const change_id = await api.bring("approved");
  const replaced = await api.bring("applied");
  await api.must("apply", change_id);
  const preview = async () => (await api.post("rollback", { change_id, dry_run: 1 })).body.adapter.preview;
  await api.must("rollback", atConsent);
  expect(await preview()).toEqual({ target_owner: change_id });
  await api.must("rollback", replaced);
  expect(await preview()).toEqual({ target_owner: change_id, passes: replaced });
});

test("a dry run of a rollback reports its result and the state of the target system", async () => {
  const { adapter, api, change_id } = await openWithChange("applied");
  const before = [await api.change(change_id), await api.audit()];
  const dryRun = async () => (await api.post("rollback", { change_id, dry_run: 1 })).body.adapter;
  adapter.calls.length = 0;
  const restores = { name: "scripted", result: "restores", host: "applied", preview: { target_owner: change_id } };
  expect(await dryRun()).toEqual(restores);
  expect(adapter.calls).toEqual(["verify"]);
  adapter.on("verify", fails("unreachable"), 1);
  expect(await dryRun()).toEqual({ ...restores, host: null });
  expect([await api.change(change_id), await api.audit()]).toEqual(before);
  const later = await api.bring("applied");
  expect(await dryRun()).toMatchObject({ result: "superseded", preview: { target_owner: later } });
});

test("a dry run needs no consent", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const { change_id } = await api.propose();
  expect((await api.post("apply", { change_id, dry_run: 1 })).body.adapter).toMatchObject({ result: "valid" });
  expect(adapter.calls).toEqual(["validate", "verify"]);
  expect((await api.change(change_id)).status).toBe("pending_consent");
});

test.each([
  ["rejected", () => ({ ok: false, reason: "no" }), 400, "adapter_rejected"],
  ["failing", fails(CAUSE), 502, "adapter_failed"],
] as [string, Script, number, string][])(
  "a dry run whose validation is %s reports the error and logs nothing",
  async (_, script, status, code) => {
    const { adapter, api, change_id } = await openWithChange("approved");
    adapter.on("validate", script);
    const rejected = await api.post("apply", { change_id, dry_run: 1 });
    expect(rejected).toMatchObject({ status, body: { code } });
    expect(rejected.text).not.toContain("secret.json");
    expect(await api.steps()).toHaveLength(2);
  },
);

test.each(["apply", "rollback"] as const)("20 parallel requests for %s run the adapter once", async (action) => {
  const { adapter, api, change_id } = await openWithChange(action === "apply" ? "approved" : "applied");
  const replies = await Promise.all(Array.from({ length: 20 }, () => api.act(action, change_id)));
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(replies.filter(({ body }) => body.code === "illegal_transition")).toHaveLength(19);
  expect(adapter.calls.filter((step) => step === action)).toHaveLength(1);
  const entries = (await api.audit()).filter(
    ({ event_type }) => event_type === (action === "apply" ? "change_applied" : "change_rolled_back"),
  );
  expect(entries).toHaveLength(1);
});

test("20 parallel applies with one idempotency key run once and get the same reply", async () => {
  const { adapter, api, change_id } = await openWithChange("approved");
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => api.act("apply", change_id, { "idempotency-key": "k" })),
  );
  expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(replies[0]!.status).toBe(200);
  expect(adapter.calls).toEqual(["validate", "apply", "verify"]);
});

test("a failed apply can be repeated with the same idempotency key", async () => {
  const { adapter, api, change_id } = await openWithChange("approved");
  adapter.on("apply", fails(CAUSE), 1);
  const send = () => api.act("apply", change_id, { "idempotency-key": "k" });
  expect([(await send()).status, (await send()).status]).toEqual([502, 200]);
});

test("If-Match is checked before the adapter is called", async () => {
  const { adapter, api, change_id } = await openWithChange("approved");
  expect((await api.act("apply", change_id, { "if-match": '"1"' })).status).toBe(412);
  expect(adapter.calls).toEqual([]);
});

test("with a trusted proxy the entry names the caller", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, identityHeader: "x-person" });
  const { change_id } = (await api.post("propose", PROPOSAL, { "x-person": "pat" })).body;
  await api.act("approve", change_id, { "x-person": "ana" });
  await api.act("apply", change_id, { "x-person": "ops" });
  expect(JSON.parse((await api.audit()).at(-1).detail).by).toBe("ops");
});
