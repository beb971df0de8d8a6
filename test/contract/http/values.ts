/** Expected values of targets, in pages and as OpenFeature flags. */
import { expect, test } from "vitest";
import type { Open } from "../http_contract.ts";

const FLAGS = "/ofrep/v1/evaluate/flags";

export function valueRules(open: Open): void {
  test("a value is returned while its change is applied, with 304 while it is unchanged", async () => {
    const api = await open();
    const change_id = await api.bring("applied", { value: '{"on":true}' });
    const page = await api.get("values?tenant_id=t1");
    expect(page.body).toMatchObject({ values: [{ target: "ui.banner", value: { on: true }, change_id }], next: null });
    const tag = { "if-none-match": page.headers.get("etag")! };
    expect((await api.get("values?tenant_id=t1", tag)).status).toBe(304);
    expect((await api.get("values?tenant_id=t2", tag)).status).toBe(200);
    await api.must("rollback", change_id);
    expect((await api.get("values?tenant_id=t1", tag)).body.values).toEqual([]);
  });

  test("flags are evaluated by key, slashes included, or all together", async () => {
    const api = await open();
    await api.bring("applied", { target: "ui/banner", value: "true" });
    const evaluation = { context: { targetingKey: "t1" } };
    for (const key of ["ui/banner", "ui%2Fbanner"])
      expect(await api.json(`${FLAGS}/${key}`, evaluation)).toMatchObject({
        status: 200,
        body: { key: "ui/banner", value: true, reason: "TARGETING_MATCH" },
      });
    const notFound = await api.json(`${FLAGS}/ui/none`, evaluation);
    expect([notFound.status, notFound.body.key, notFound.body.errorCode]).toEqual([404, "ui/none", "FLAG_NOT_FOUND"]);
    expect((await api.json(`${FLAGS}/a`, { context: 1 })).body).toMatchObject({
      key: "a",
      errorCode: "INVALID_CONTEXT",
    });
    const all = await api.json(FLAGS, evaluation);
    expect(all.body.flags).toMatchObject([{ key: "ui/banner", value: true }]);
    const unchanged = await api.json(FLAGS, evaluation, { "if-none-match": all.headers.get("etag")! });
    expect([unchanged.status, unchanged.text]).toEqual([304, ""]);
  });

  test("evaluating a flag needs no token and no name", async () => {
    const api = await open({ adminToken: "admin-token-of-sixteen" });
    expect((await api.json(`${FLAGS}/a`, { context: {} })).status).toBe(404);
    expect((await api.json(FLAGS, { context: {} })).body).toEqual({ flags: [] });
  });
}
