/** Readiness and capabilities: a store that cannot be written, a log without a head, an adapter that fails. */
import { expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { openDeps } from "../../support/deps.ts";
import { failingStore } from "../../support/failing_store.ts";
import { PROPOSAL } from "../../support/client.ts";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service, makeService, type TestService } from "../../support/service.ts";

test("a store that cannot be written makes the service unready, but livez still succeeds", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  store.fail();
  const { status, body, text } = await api.get("/readyz");
  expect([status, body.ready, body.checks.store.ok]).toEqual([503, false, false]);
  // The failure's message names the path of the journal.
  expect(text).not.toContain("state.journal");
  expect((await api.get("/livez")).status).toBe(200);
  store.recover();
  expect((await api.get("/readyz")).status).toBe(200);
});

test("without a head of the log the service is not ready: its intent check reads the head", async () => {
  const deps = await openDeps();
  await deps.store.transact((tx) => tx.delete("meta", "chain"));
  expect((await makeService(deps).get("/readyz")).body).toMatchObject({
    ready: false,
    checks: { intent: { ok: false } },
  });
});

/** Opens a service whose adapter failed once; it carries no target of the form `wave.…`. */
async function openAfterFailure() {
  const adapter = scriptedAdapter();
  adapter.carries = ({ target }) => !target.startsWith("wave.");
  const api = await service({ adapter });
  const status = async () =>
    (await api.get("/api/capabilities")).body.capabilities.find(({ id }: { id: string }) => id === "product_adapter")
      .status;
  expect(await status()).toBe("available");
  adapter.on("apply", fails("unreachable"), 1);
  await api.act("apply", await api.bring("approved"));
  return { api, adapter, status };
}

/** Proposes, approves and applies a plan. */
async function applyPlan(api: TestService, targets: readonly string[]): Promise<string> {
  const sets = targets.map((target) => ({ tenant_id: "t1", target, value: 1 }));
  const { change_id } = (await api.json("propose", { ...PROPOSAL, target: "relaunch", sets })).body;
  for (const action of ["approve", "apply"] as const) await api.must(action, change_id);
  return change_id;
}

test("a failing adapter shows in the capabilities until a change or plan succeeds on it", async () => {
  for (const succeed of [
    (api: TestService) => api.bring("applied", { target: "ui.menu" }),
    (api: TestService) => applyPlan(api, ["wave.1", "ui.menu"]),
  ]) {
    const { api, status } = await openAfterFailure();
    expect(await status()).toBe("failing");
    await succeed(api);
    expect(await status()).toBe("available");
    expect((await api.get("intent")).body.adapter).toMatchObject({ status: "ready", last_error: null });
  }
});

test("an adapter is failing although changes and plans that no system carries succeed", async () => {
  const { api, status } = await openAfterFailure();
  await api.bring("applied", { target: "wave.2" });
  await applyPlan(api, ["wave.1", "wave.3"]);
  expect(await status()).toBe("failing");
});

test("a plan whose rollback fails on a part of its targets leaves the adapter failing", async () => {
  const { api, adapter, status } = await openAfterFailure();
  const id = await applyPlan(api, ["ui.menu", "ui.footer"]);
  // The script of `fails` ignores its arguments.
  adapter.on("rollback", ({ target }) =>
    target === "ui.menu" ? fails("unreachable")(undefined!, undefined!) : undefined,
  );
  expect((await api.act("rollback", id)).status).toBe(502);
  expect(await status()).toBe("failing");
});
