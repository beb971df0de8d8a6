/** Opening a store for a product: its identity and its log. */
import { expect, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { makeIdentity, IdentityMismatch } from "../../../lib/changes/open_product.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { openDeps, restartDeps } from "../../support/deps.ts";

test("the default identity is made of product and node", () => {
  expect(makeIdentity("acme-crm", "node-7")).toEqual({
    product_id: "acme-crm",
    instance_id: "acme-crm@node-7",
    node_id: "node-7",
    binding_mode: "one_product_one_svc",
  });
  expect(makeIdentity("acme-crm", "node-7", "blue").instance_id).toBe("blue");
});

test("a store of another product is rejected and not changed", async () => {
  const deps = await openDeps();
  const openForOtherProduct = () => restartDeps(deps, { intent: { product_id: "other" } });
  await expect(openForOtherProduct()).rejects.toThrow(IdentityMismatch);
  await expect(openForOtherProduct()).rejects.toThrow(/"acme-crm".*"other"/);
  expect((await deps.store.get("meta", "identity"))?.value.product_id).toBe("acme-crm");
});

test("a store of another product is rejected before the anchor is read", async () => {
  const deps = await openDeps();
  let anchorReads = 0;
  const anchor = { append: async () => {}, readAll: () => void anchorReads++ };
  await expect(restartDeps(deps, { anchor, intent: { product_id: "other" } })).rejects.toThrow(IdentityMismatch);
  expect(anchorReads).toBe(0);
  await restartDeps(deps, { anchor });
  expect(anchorReads).toBe(1);
});

test("another instance of the same product can open the store", async () => {
  const deps = await openDeps();
  const other = await restartDeps(deps, { node_id: "node-2" });
  expect((await deps.store.get("meta", "identity"))?.value).toEqual(makeIdentity("acme-crm", "node-2"));
  expect(other.product!.identity.instance_id).toBe("acme-crm@node-2");
});

test("the log is created once, also when processes open the store concurrently", async () => {
  const deps = await openDeps();
  const created = await readHead(deps.store);
  expect(created).toMatchObject({ origin: expect.stringMatching(/^acme-crm\/audit\/[0-9a-f]{16,}$/), length: 0 });
  await Promise.all([restartDeps(deps), restartDeps(deps)]);
  expect(await readHead(deps.store)).toEqual(created);
  const store = memoryStore();
  const racing = await Promise.all(Array.from({ length: 5 }, () => openDeps({ store })));
  const origins = await Promise.all(racing.map(async ({ store }) => (await readHead(store))!.origin));
  expect(new Set(origins).size).toBe(1);
});

test("without an intent no log is created", async () => {
  const deps = await openDeps({ intent: null });
  expect(await readHead(deps.store)).toBeUndefined();
});
