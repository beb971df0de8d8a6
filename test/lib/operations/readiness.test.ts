/** Readiness and capabilities: a store that cannot be written, a log without a head, an adapter that fails. */
import { expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { openDeps } from "../../support/deps.ts";
import { failingStore } from "../../support/failing_store.ts";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service, makeService } from "../../support/service.ts";

test("a store that cannot be written makes the service unready, but livez still succeeds", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  store.fail();
  const { status, body, text } = await api.get("/readyz");
  expect([status, body.ready, body.checks.store.ok]).toEqual([503, false, false]);
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

test("a failing adapter shows in the capabilities", async () => {
  const adapter = scriptedAdapter();
  const api = await service({ adapter });
  const status = async () =>
    (await api.get("/api/capabilities")).body.capabilities.find(({ id }: { id: string }) => id === "product_adapter")
      .status;
  expect(await status()).toBe("available");
  adapter.on("apply", fails("unreachable"));
  await api.act("apply", await api.bring("approved"));
  expect(await status()).toBe("failing");
});
