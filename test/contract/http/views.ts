/** Reads of the runtime: identity, intent, changes, approvals, health. */
import { expect, test } from "vitest";
import type { Client } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const listIds = (changes: { change_id: string }[]): string[] => changes.map(({ change_id }) => change_id);

/**
 * Reads all pages and returns the ids of their changes; requires that no page has more than `limit` changes. `path` ends with `?` or
 * `&`; `cursor`: the parameter that takes the `next` of the page before.
 */
async function readPages(api: Client, path: string, cursor: string, limit: number, idsIn: (body: never) => string[]) {
  const listed: string[] = [];
  let next = "";
  for (let page = 0; page < 50; page++) {
    const fromNext = next && `&${cursor}=${next}`;
    const { body } = await api.get(`${path}limit=${limit}${fromNext}`);
    const ids = idsIn(body as never);
    expect(ids.length).toBeLessThanOrEqual(limit);
    listed.push(...ids);
    if (body.next === null) break;
    next = body.next;
  }
  return listed;
}

const STATUSES = ["approved", "pending_consent", "applied", "pending_consent", "approved", "denied"] as const;

/** Creates a change in each of `STATUSES`, for the tenants `even` and `odd` in turn, and returns their ids, oldest first. */
async function createChanges(api: Client): Promise<string[]> {
  const changeIds: string[] = [];
  for (const [index, status] of STATUSES.entries())
    changeIds.push(await api.bring(status, { target: `ui.x${index}`, tenant_id: index % 2 ? "odd" : "even" }));
  return changeIds;
}

export function viewRules(open: Open): void {
  test("the identity has product, instance and node", async () => {
    expect((await (await open()).get("identity")).body).toEqual({
      product_id: "acme-crm",
      instance_id: "acme-crm@local",
      node_id: "local",
      binding_mode: "one_product_one_svc",
    });
  });

  test("the intent has its fields, hash and policy with defaults", async () => {
    const { body } = await (await open({ intent: { product_type: "crm" } })).get("intent");
    expect(body).toMatchObject({
      product_id: "acme-crm",
      product_type: "crm",
      version: "2026.11",
      update_epoch: 3,
      approved_by: "head-of-product@acme.example",
      manifest_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      policy: { required_approvers: { standard: 1, major: 1 }, self_approval: true, guardrails: [] },
      adapter: null,
      last_kpi_at: null,
    });
  });

  test("co-evolution returns its lists", async () => {
    expect((await (await open()).get("co-evolution")).body).toMatchObject({ insights: [], peers: [] });
  });

  test("drift is unknown without an adapter", async () => {
    expect((await (await open()).get("drift")).body).toMatchObject({ result: null, drifted: [], missing: [] });
  });

  test("runtime shows identity, intent, changes newest first, and the audit log", async () => {
    const api = await open();
    const changeIds = await createChanges(api);
    const { body } = await api.get("runtime");
    expect(body.identity).toEqual((await api.get("identity")).body);
    expect(body.intent).toEqual((await api.get("intent")).body);
    expect(listIds(body.changes)).toEqual([...changeIds].reverse());
    expect([body.total, body.next]).toEqual([6, null]);
    const { origin, length, head, entries } = (await api.get("audit")).body;
    expect(body.audit).toEqual({ origin, length, head, entries });
    // The list omits the members that only GET changes/<id> returns.
    const {
      audit_entries: _a,
      outcome: _o,
      allowed_actions: _l,
      caller: _c,
      gates: _g,
      missing: _m,
      signers: _s,
      evidence: _e,
      drift: _d,
      related: _r,
      ...change
    } = await api.change(changeIds[0]!);
    expect(body.changes.at(-1)).toEqual(change);
  });

  test.each([1, 2, 5, 6, 7])("pages of %i visit every change once", async (limit) => {
    const api = await open();
    // Newest first: the statuses are denied, approved, pending, applied, pending, approved, of the tenants odd, even, odd …
    const changeIds = (await createChanges(api)).reverse();
    const idsIn = ({ changes }: { changes: { change_id: string }[] }) => listIds(changes);
    expect(await readPages(api, "runtime?", "before", limit, idsIn)).toEqual(changeIds);
    const odd = await readPages(api, "runtime?tenant_id=odd&", "before", limit, idsIn);
    expect(odd).toEqual([changeIds[0], changeIds[2], changeIds[4]]);
    const approved = await readPages(api, "runtime?status=approved&", "before", limit, idsIn);
    expect(approved).toEqual([changeIds[1], changeIds[5]]);
  });

  test("total is the number of changes that match the filters", async () => {
    const api = await open();
    await createChanges(api);
    for (const [status, total] of Object.entries({
      approved: 2,
      pending_consent: 2,
      denied: 1,
      applied: 1,
      rolled_back: 0,
    }))
      expect((await api.get(`runtime?status=${status}&limit=1`)).body.total, status).toBe(total);
    expect((await api.get("runtime?tenant_id=odd&limit=1")).body.total).toBe(3);
    expect((await api.get("runtime?tenant_id=odd&status=pending_consent&limit=1")).body.total).toBe(2);
  });

  test("approvals lists pending and approved changes, oldest first, with their gates", async () => {
    const api = await open({ intent: { policy: { required_approvers: { standard: 2 } } } });
    const pending = await api.propose({ target: "ui.a", affected_users: 7, expected_delta_k: 2.5 });
    const approved = await api.propose({ target: "ui.b" });
    for (const approver of ["ana", "bo"]) await api.post("approve", { change_id: approved.change_id, approver });
    const { body } = await api.get("approvals");
    expect(body.pending).toEqual([
      {
        change_id: pending.change_id,
        status: "pending_consent",
        tier: "standard",
        target: "ui.a",
        summary: pending.summary,
        expected_delta_k: 2.5,
        affected_users: 7,
        unstated: ["risk", "reversible"],
        sets_nothing: true,
        proposer_kind: "unknown",
        required_approvers: 2,
        approvals: [],
        missing: [{ rule: "required_approvers", count: 2, of: [] }],
        blocked_by: [{ gate: "consent", state: "block", message: "0 of 2 consents" }],
      },
    ]);
    expect(listIds(body.approved)).toEqual([approved.change_id]);
    expect(body.approved[0].blocked_by).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5])("pages of %i visit every approval once", async (limit) => {
    const api = await open();
    const changeIds = await createChanges(api);
    const idsIn = ({ pending, approved }: Record<string, { change_id: string }[]>) =>
      listIds([...pending!, ...approved!]).sort();
    // The approved and pending changes; their ids sort by creation.
    expect(await readPages(api, "approvals?", "after", limit, idsIn)).toEqual([
      changeIds[0],
      changeIds[1],
      changeIds[3],
      changeIds[4],
    ]);
  });

  test("a change is returned with its entries, in order", async () => {
    const api = await open();
    const first = await api.bring("applied");
    await api.bring("approved");
    await api.must("rollback", first);
    const { audit_entries } = await api.change(first);
    expect(audit_entries).toEqual((await api.audit()).filter(({ change_id }) => change_id === first));
  });

  test("an unknown change is 404", async () => {
    expect(await (await open()).get("changes/chg_none")).toMatchObject({
      status: 404,
      body: { code: "change_not_found", change_id: "chg_none" },
    });
  });

  test.each(["runtime?limit=0", "runtime?limit=1001", "runtime?status=gone", "approvals?limit=x", "outcomes?limit=-1"])(
    "%s is rejected",
    async (path) => expect((await (await open()).get(path)).status).toBe(400),
  );

  test("the service is live and ready", async () => {
    const api = await open();
    expect((await api.get("/livez")).body).toEqual({ status: "ok" });
    expect((await api.get("/readyz")).body).toMatchObject({ ready: true });
  });

  test("capabilities list what is disabled and how to enable it", async () => {
    const { capabilities } = (await (await open({ intent: null })).get("/api/capabilities")).body;
    const runtime = capabilities.find(({ id }: { id: string }) => id === "product_runtime");
    expect(runtime).toMatchObject({ status: "disabled", enable_with: "--product-intent PATH" });
    const withIntent = (await (await open()).get("/api/capabilities")).body.capabilities;
    expect(withIntent.find(({ id }: { id: string }) => id === "product_runtime").status).toBe("available");
  });
}
