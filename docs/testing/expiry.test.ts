// expiry.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { app } from "countersign";
import { createClient } from "countersign/client";
import { pass, testDeps } from "countersign/testing";

const HOUR = 3_600_000;
const change = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show it", value: true } as const;

/** A service whose consents expire after a day, and its client. */
async function service() {
  const deps = await testDeps({ intent: { policy: { consent_ttl_hours: 24 } } });
  return { deps, api: createClient({ baseUrl: "http://shop.example", fetch: app(deps) }) };
}

test("what nobody decides on expires", async () => {
  const { deps, api } = await service();
  const { change_id } = await api.post("/api/product/propose", { body: change });
  await pass(deps, 25 * HOUR);
  const { status, resolution } = await api.get("/api/product/changes/{change_id}", { params: { path: { change_id } } });
  assert.deepEqual({ status, resolution }, { status: "denied", resolution: "expired" });
});

test("the same requests are answered alike", async () => {
  const answers = await Promise.all([service(), service()].map(async (made) => (await made).api));
  const [first, second] = await Promise.all(answers.map((api) => api.post("/api/product/propose", { body: change })));
  assert.equal(first!.change_id, second!.change_id);
  assert.equal(first!.digest, second!.digest);
});
