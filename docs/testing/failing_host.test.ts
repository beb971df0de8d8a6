// failing_host.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { app, type ProductAdapter } from "countersign";
import { createClient, CountersignError } from "countersign/client";
import { testDeps } from "countersign/testing";

const host: ProductAdapter = {
  name: "host",
  validate: async () => ({ ok: true }),
  apply: () => Promise.reject(new Error("the disk is full")),
  verify: async () => "absent",
  rollback: async () => ({ result: "rolled_back" }),
};

test("a failed apply leaves the change approved, and is on record", async () => {
  const api = createClient({ baseUrl: "http://shop.example", fetch: app(await testDeps({ adapter: host })) });
  const change = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show it", value: true } as const;
  const { change_id } = await api.post("/api/product/propose", { body: change });
  await api.post("/api/product/approve", { body: { change_id, approver: "ana" } });

  const applied = api.post("/api/product/apply", { body: { change_id } });
  await assert.rejects(applied, (error: CountersignError) => error.code === "adapter_failed");
  const { status, audit_entries } = await api.get("/api/product/changes/{change_id}", {
    params: { path: { change_id } },
  });
  assert.equal(status, "approved");
  assert.ok(audit_entries.some(({ event_type }) => event_type === "change_apply_failed"));
});
