/** Operations that the target system carries out after the time limit, and rollbacks of changes that it no longer knows. */
import { expect, test } from "vitest";
import { Unanswered } from "../../../../lib/kit/time_limit.ts";
import { webhookAdapter } from "../../../../lib/targets/webhook.ts";
import { events } from "../../../support/client.ts";
import { HOUR, MINUTE, pass, testClock } from "../../../support/clock.ts";
import { core, makeCore } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import type { Manifest } from "../../../support/intents.ts";
import { makeIntent } from "../../../support/intents.ts";
import { fails, scriptedAdapter } from "../../../support/scripted_adapter.ts";

const timeOut = () => {
  throw new Unanswered("no answer within 10 s");
};

/** Creates a change whose first apply timed out and is not visible on the host yet; a second apply would work. */
async function coreWithTimedOutApply(intent: Manifest = {}) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, intent });
  const change_id = await api.bring("approved");
  adapter.on("apply", timeOut, 1);
  const failed = await api.act("apply", change_id);
  expect(failed).toMatchObject({ status: 502, body: { code: "adapter_failed", stage: "apply", host: "unknown" } });
  adapter.calls.length = 0;
  return { adapter, api, change_id };
}
const readNewestDetail = async (api: Pick<Awaited<ReturnType<typeof core>>, "audit">) =>
  JSON.parse((await api.audit()).at(-1).detail);

test("an apply that becomes visible late is recorded as late and can be rolled back", async () => {
  const { adapter, api, change_id } = await coreWithTimedOutApply();
  expect(await readNewestDetail(api)).toMatchObject({ host: "unknown", unanswered: true });
  for (let cycle = 0; cycle < 3; cycle++) expect((await api.cycle()).recovered).toBe(0);
  for (const [action, fields] of [
    ["revoke", { approver: "ana" }],
    ["rollback", {}],
  ] as const)
    expect((await api.post(action, { change_id, ...fields })).status, action).toBeGreaterThanOrEqual(400);
  expect((await api.change(change_id)).status).toBe("approved");
  adapter.host.set(change_id, "applied");
  expect((await api.cycle()).recovered).toBe(1);
  expect(adapter.calls).not.toContain("rollback");
  expect(await readNewestDetail(api)).toMatchObject({ status: "applied", late: true });
  expect((await api.act("rollback", change_id)).status).toBe(200);
  expect(adapter.host.get(change_id)).toBe("rolled_back");
});

test("an apply that is not visible ten minutes after the end of its lease counts as failed", async () => {
  const { adapter, api, change_id } = await coreWithTimedOutApply();
  // The lease lasts one minute, and ten minutes more follow it: the first advance ends 1 ms earlier.
  api.deps.clock.advance(10 * MINUTE + 59_999);
  expect((await api.cycle()).recovered).toBe(0);
  expect(await api.act("revoke", change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  api.deps.clock.advance(1);
  expect((await api.cycle()).recovered).toBe(1);
  expect(await readNewestDetail(api)).toMatchObject({ stage: "interrupted", host: "absent", late: true });
  expect(adapter.calls).not.toContain("rollback");
  expect((await api.act("revoke", change_id)).status).toBe(200);
});

test("another process waits for an apply that timed out, and records it once it is visible", async () => {
  const { adapter, api, change_id } = await coreWithTimedOutApply();
  const next = makeCore(await restartDeps(api.deps, { exclusive: true }));
  expect((await next.change(change_id)).gates).toContainEqual(
    expect.objectContaining({ gate: "operation", state: "block" }),
  );
  adapter.host.set(change_id, "applied");
  expect((await next.cycle()).recovered).toBe(1);
  expect((await next.change(change_id)).status).toBe("applied");
});

test("a change whose apply timed out can be applied again, and is recorded as applied once", async () => {
  const { adapter, api, change_id } = await coreWithTimedOutApply();
  expect((await api.act("apply", change_id)).status).toBe(200);
  // The first two entries are the proposal and the consent.
  expect(events(await api.steps()).slice(2)).toEqual(["change_apply_failed", "change_applied"]);
  expect((await api.cycle()).recovered).toBe(0);
  expect(adapter.host.get(change_id)).toBe("applied");
});

test.each([
  [
    "an approver was removed",
    {},
    async (api: Awaited<ReturnType<typeof coreWithTimedOutApply>>["api"]) => {
      const product = { ...api.deps.product!, ...makeIntent({ update_epoch: 4, policy: { approvers: ["bo"] } }) };
      return makeCore({ ...api.deps, product });
    },
  ],
  [
    "the approval expired",
    { policy: { approval_ttl_hours: 1 } },
    async (api: Awaited<ReturnType<typeof coreWithTimedOutApply>>["api"]) => {
      await pass(api.deps, HOUR + 1);
      return api;
    },
  ],
])(
  "a late apply is rolled back and logged where its consent is no longer valid: %s",
  async (_, intent, invalidateConsent) => {
    const { adapter, api, change_id } = await coreWithTimedOutApply(intent);
    adapter.host.set(change_id, "applied");
    const next = await invalidateConsent(api);
    await next.cycle();
    expect(adapter.calls).toContain("rollback");
    expect(adapter.host.get(change_id)).toBe("rolled_back");
    const reported = (await next.audit()).filter(({ event_type }) => event_type === "change_apply_failed").at(-1);
    expect(JSON.parse(reported.detail)).toMatchObject({ stage: "consent", host: "rolled_back", late: true });
  },
);

test("a rollback that the target system carries out late is recorded by the next cycle", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("applied");
  adapter.on("rollback", timeOut, 1);
  expect((await api.act("rollback", change_id)).body).toMatchObject({ stage: "rollback", host: "unknown" });
  expect((await api.cycle()).recovered).toBe(0);
  adapter.host.set(change_id, "rolled_back");
  expect((await api.cycle()).recovered).toBe(1);
  expect((await api.change(change_id)).status).toBe("rolled_back");
});

test("an unresolved apply blocks other changes of its target; the error says what resolves it", async () => {
  const { api, change_id } = await coreWithTimedOutApply();
  const second = await api.bring("approved");
  const rejected = await api.act("apply", second);
  expect(rejected).toMatchObject({ status: 409, body: { code: "operation_in_progress", conflicts: [change_id] } });
  expect(rejected.body.error).toContain(`it is asked again in each cycle, and by each request to apply ${change_id}`);
});

test("a webhook without an answer is unresolved; an error status is a failure", async () => {
  const webhookWithStatus = (status: number) =>
    webhookAdapter({
      url: "https://host.example/hook",
      secret: "a secret of the tests",
      product_id: "p",
      instance_id: "i",
      clock: testClock(),
      sleep: async () => {},
      fetch: async () => (status === 0 ? Promise.reject(new Error("reset")) : new Response("{}", { status })),
    });
  const change = { change_id: "chg_1", revision: 1 } as never;
  const { signal } = new AbortController();
  for (const status of [0, 429, 502, 503, 504])
    await expect(webhookWithStatus(status).apply(change, signal)).rejects.toThrow(Unanswered);
  for (const status of [400, 409, 500])
    await expect(webhookWithStatus(status).apply(change, signal)).rejects.not.toBeInstanceOf(Unanswered);
});

test.each([
  // `onVerify` runs before each read of the state. The scripted rollback sets `rolled_back`, which the first case removes.
  ["does not show it after the rollback", 502, "applied", (host: Map<string, unknown>, id: string) => host.delete(id)],
  ["shows it as rolled back", 200, "rolled_back", () => true],
] as const)(
  "a rollback on a target system that lost the change and %s is %i",
  async (_, status, changeStatus, onVerify) => {
    const adapter = scriptedAdapter();
    const api = await core({ adapter });
    const change_id = await api.bring("applied");
    adapter.host.delete(change_id);
    adapter.on("verify", () => void onVerify(adapter.host, change_id));
    const reply = await api.act("rollback", change_id);
    expect(reply.status).toBe(status);
    expect((await api.change(change_id)).status).toBe(changeStatus);
    if (status === 200) return;
    expect(reply.body).toMatchObject({ code: "adapter_failed", stage: "verify", host: "absent" });
    expect((await readNewestDetail(api)).error).toContain("nobody can say that what was there before is back");
    adapter.removeScripts();
    expect((await api.act("rollback", change_id)).status).toBe(200);
  },
);

test("a change shown right before a rollback, and not after it, counts as rolled back", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const [first, second, third] = [
    await api.bring("applied"),
    await api.bring("applied", { target: "ui.b" }),
    await api.bring("applied", { target: "ui.c" }),
  ];
  const forgetChange = ({ change_id }: { change_id: string }) => {
    adapter.host.delete(change_id);
    return { result: "rolled_back" };
  };
  adapter.on("rollback", forgetChange);
  expect((await api.act("rollback", first)).status).toBe(200);
  // This process ends after the rollback took effect; the next one finds its lease.
  adapter.on("rollback", (change) => (forgetChange(change), new Promise(() => {})), 1);
  void api.act("rollback", second);
  while (adapter.host.has(second)) await new Promise((resolve) => setImmediate(resolve));
  const next = makeCore(await restartDeps(api.deps, { exclusive: true }));
  expect((await next.change(second)).status).toBe("rolled_back");
  // The system lost the third change before its rollback, so nothing shows that the rollback removed it.
  adapter.host.delete(third);
  adapter.on("rollback", fails("away"));
  expect((await next.act("rollback", third)).status).toBe(502);
  expect((await next.change(third)).status).toBe("applied");
});

test("a target system that shows only the newest change may report an earlier one as rolled back", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const [first, second] = [await api.bring("applied"), await api.bring("applied")];
  adapter.host.delete(first);
  adapter.on("rollback", ({ change_id }) => (adapter.host.delete(change_id), { result: "superseded" }));
  expect((await api.act("rollback", first)).body).toMatchObject({ status: "rolled_back" });
  expect((await api.act("rollback", second)).body).toMatchObject({ status: "rolled_back" });
});
