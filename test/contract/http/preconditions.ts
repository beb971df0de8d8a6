/** Conditional requests (ETag, If-Match, waits), HEAD and caching. */
import { expect, test } from "vitest";
import type { Action, Reachable } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const STEPS: [from: Reachable, action: Action][] = [
  ["pending_consent", "approve"],
  ["pending_consent", "deny"],
  ["pending_consent", "withdraw"],
  ["approved", "revoke"],
  ["approved", "apply"],
  ["applied", "rollback"],
];

export function preconditionRules(open: Open): void {
  test("the ETag is the revision, which increases with every step", async () => {
    const api = await open();
    const { change_id } = await api.propose();
    const tags = [(await api.get(`changes/${change_id}`)).headers.get("etag")];
    for (const action of ["approve", "apply", "rollback"] as const) {
      const reply = await api.act(action, change_id);
      expect(reply.headers.get("etag")).toBe(`"${reply.body.change.revision}"`);
      expect((await api.get(`changes/${change_id}`)).headers.get("etag")).toBe(reply.headers.get("etag"));
      tags.push(reply.headers.get("etag"));
    }
    expect(tags).toEqual(['"1"', '"2"', '"3"', '"4"']);
  });

  test("the response to a proposal has its ETag", async () => {
    const api = await open();
    const { headers } = await api.post("propose-crm-followup", {
      tenant_id: "t",
      affected_users: 1,
      expected_delta_k: 1,
    });
    expect(headers.get("etag")).toBe('"1"');
  });

  test.each(STEPS)("for a change that is %s, %s honours If-Match", async (from, action) => {
    const api = await open();
    const change_id = await api.bring(from);
    const { revision } = await api.change(change_id);
    const entries = await api.audit();
    for (const stale of [`"${revision + 1}"`, `"${revision - 1}"`, `W/"${revision + 1}"`, `${revision}`, "", '"x"']) {
      const rejected = await api.act(action, change_id, { "if-match": stale });
      expect(rejected, stale).toMatchObject({
        status: 412,
        body: { code: "version_mismatch", current_revision: revision },
      });
      expect(rejected.headers.get("etag")).toBe(`"${revision}"`);
    }
    expect(await api.audit()).toEqual(entries);
    expect((await api.change(change_id)).status).toBe(from);
    expect((await api.act(action, change_id, { "if-match": `"99", W/"${revision}"` })).status).toBe(200);
  });

  test("If-Match: * matches any revision of an existing change", async () => {
    const api = await open();
    const change_id = await api.bring("pending_consent");
    expect((await api.act("approve", "chg_none", { "if-match": "*" })).status).toBe(404);
    expect((await api.act("approve", change_id, { "if-match": "*" })).status).toBe(200);
  });

  test("a dry run honours If-Match too", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    expect(await api.post("apply", { change_id, dry_run: 1 }, { "if-match": '"1"' })).toMatchObject({ status: 412 });
  });

  test("only one of four concurrent approvals of the same revision succeeds", async () => {
    const api = await open({ intent: { policy: { required_approvers: { standard: 2 } } } });
    const change_id = await api.bring("pending_consent");
    const replies = await Promise.all(
      ["ana", "bo", "cy", "di"].map((approver) => api.post("approve", { change_id, approver }, { "if-match": '"1"' })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    expect((await api.change(change_id)).approvals).toHaveLength(1);
  });

  test("a wait ends with the next step, or immediately if the caller missed the last step", async () => {
    const api = await open();
    const change_id = await api.bring("pending_consent");
    const waiting = api.get(`changes/${change_id}?wait=60`, { "if-none-match": '"1"' });
    await api.must("approve", change_id);
    expect((await waiting).body).toMatchObject({ status: "approved", revision: 2 });
    const immediate = await api.get(`changes/${change_id}?wait=60`, { "if-none-match": '"1"' });
    expect([immediate.status, immediate.headers.get("etag")]).toEqual([200, '"2"']);
  });

  test("HEAD has the status and headers of GET, without a body", async () => {
    const api = await open();
    const change_id = await api.bring("applied");
    const head = await api.send(new Request(`${api.origin}/api/product/changes/${change_id}`, { method: "HEAD" }));
    expect([head.status, head.text, head.headers.get("etag")]).toEqual([200, "", '"3"']);
  });

  test("HEAD has the status and headers of the export, of a missing change and of an error", async () => {
    const api = await open();
    await api.bring("applied");
    const head = (path: string) => api.send(new Request(`${api.origin}/api/product/${path}`, { method: "HEAD" }));
    const exported = await head("audit?format=jsonl");
    expect([exported.status, exported.headers.get("content-type")]).toEqual([
      200,
      "application/x-ndjson; charset=utf-8",
    ]);
    expect((await head("changes/chg_none")).status).toBe(404);
    expect((await head("audit?limit=0")).status).toBe(400);
  });

  test("responses must not be cached", async () => {
    const api = await open();
    for (const path of ["runtime", "audit", "/api/state"])
      expect((await api.get(path)).headers.get("cache-control")).toBe("no-store");
  });
}
