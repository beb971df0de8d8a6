// self_approval.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { approve } from "countersign/handlers/product/approve";
import { propose } from "countersign/handlers/product/propose";
import { testDeps } from "countersign/testing";

const post = (path: string, fields: Record<string, string>): Request =>
  new Request(`http://shop.example${path}`, { method: "POST", body: new URLSearchParams(fields) });
const read = async (response: Response) => (await response.json()) as Record<string, string>;

test("nobody approves their own change", async () => {
  const deps = await testDeps({ intent: { policy: { self_approval: false } } });
  const change = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show it", proposer: "ana" };
  const { change_id = "" } = await read(await propose(deps)(post("/api/product/propose", change)));

  const refused = await approve(deps)(post("/api/product/approve", { change_id, approver: "ana" }));
  assert.equal(refused.status, 403);
  assert.equal((await read(refused)).code, "self_approval_forbidden");

  const approved = await approve(deps)(post("/api/product/approve", { change_id, approver: "bo" }));
  assert.equal((await read(approved)).status, "approved");
});
