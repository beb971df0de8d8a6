/** Erasing the content of a change: permissions, the remaining fields, and the log, which stays valid. */
import { describe, expect, test } from "vitest";
import { projectAll, rebuild } from "../../../lib/projections/projector.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { canonicalContent } from "../../../lib/changes/rules/content.ts";
import { statementText } from "../../../lib/changes/rules/statement.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { PROPOSAL } from "../../support/client.ts";
import { openDeps, restartDeps } from "../../support/deps.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import type { Fields } from "../../support/requests.ts";
import { makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { person, proofFields, requestStatement } from "../../support/signed.ts";

const CONTENT = {
  summary: "Wombat",
  rationale: "because",
  value: '{"on":true}',
  affected_users: 7,
  expected_delta_k: 2,
};
const erase = (api: Core, change_id: string, fields: object = {}) =>
  api.post("erase", { change_id, actor: "dpo", note: "asked for", ...fields });
const errorReply = (status: number, code: string) => ({ status, body: { code } });

describe("an erasure", () => {
  test("removes the content from the change; digest, entries and figures stay", async () => {
    const api = await core();
    const change_id = await api.bring("denied", CONTENT);
    const { audit_entries, revision, digest } = await api.change(change_id);
    const reply = await erase(api, change_id);
    expect(reply).toMatchObject({
      status: 200,
      headers: expect.anything(),
      body: { change_id, stays: expect.any(Array) },
    });
    expect(reply.headers.get("etag")).toBe(`"${revision + 1}"`);
    expect(Date.parse(reply.body.gone_by) - api.deps.clock.now()).toBe(24 * 3600 * 1000);
    const after = await api.change(change_id);
    const erased = after.erased!;
    expect(after).toMatchObject({
      ...{ summary: "erased", rationale: "erased", affected_users: null, expected_delta_k: 2 },
      ...{ status: "denied", digest, revision: revision + 1 },
      erased: { entry: reply.body.audit_entry.id, at: reply.body.audit_entry.timestamp },
    });
    expect(after).not.toHaveProperty("value");
    expect(sha256(canonicalContent(after as Change))).toBe(erased.digest);
    expect(after.audit_entries).toEqual([...audit_entries, reply.body.audit_entry]);
    expect(reply.body.audit_entry).toMatchObject({ event_type: "content_erased", change_id, tenant: "t1" });
    expect(JSON.parse(reply.body.audit_entry.detail)).toMatchObject({
      ...{ status: "denied", actor: "dpo", authenticated: "claimed", note: "asked for", digest },
      remaining_digest: erased.digest,
    });
    expect(JSON.stringify(after)).not.toMatch(/Wombat|because|"on"/);
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
  });

  test("leaves an empty rationale empty", async () => {
    const api = await core();
    const change_id = await api.bring("denied");
    expect((await erase(api, change_id)).body.change).toMatchObject({ summary: "erased", rationale: "" });
  });

  test("makes an edit of the remaining record a mismatch", async () => {
    const api = await core();
    const change_id = await api.bring("denied", CONTENT);
    await erase(api, change_id);
    await api.deps.store.transact(async (tx) => {
      const { value } = (await tx.get("changes", change_id))!;
      tx.put("changes", change_id, { ...value, change: { ...value.change, target: "ui.other" } } as never);
    });
    const { body } = await api.get("audit/verify");
    expect(body.state.mismatches).toEqual([{ change_id, fields: ["content"] }]);
  });

  test("removes the content from projections, which are the same when rebuilt", async () => {
    const api = await core();
    const { deps } = api;
    const readProjections = async () =>
      Object.fromEntries(
        await Promise.all(
          (["record_memories", "outcome_memories", "outcomes", "cursors", "closing_days"] as const).map(
            async (name) => [name, (await deps.store.list(name, { limit: 100 })).map(({ id, value }) => [id, value])],
          ),
        ),
      );
    await api.post("kpi", { csat: 4 });
    const rolledBack = await api.bring("rolled_back", { ...CONTENT, kpi: "csat" });
    await api.post("kpi", { csat: 5 });
    const other = await api.bring("denied");
    await projectAll(deps);
    expect(JSON.stringify(await readProjections())).toContain("Wombat");
    await erase(api, rolledBack);
    await projectAll(deps);
    const projected = await readProjections();
    expect(JSON.stringify(projected)).not.toContain("Wombat");
    expect(JSON.stringify(projected)).toContain(other);
    await rebuild(deps);
    expect(await readProjections()).toEqual(projected);
  });
});

describe("an erasure is rejected", () => {
  test.each(["pending_consent", "approved"] as const)("for a change that is %s", async (status) => {
    const api = await core();
    const change_id = await api.bring(status, CONTENT);
    const reply = await erase(api, change_id);
    expect(reply).toMatchObject({ status: 400, body: { code: "illegal_transition", current_status: status } });
    expect(reply.body.error).toContain("possible now: ");
    expect(await api.change(change_id)).toMatchObject({ summary: "Wombat", value: { on: true } });
  });

  test("for the change in force, and for a change whose value a rollback would restore", async () => {
    const api = await core();
    const first = await api.bring("applied", CONTENT);
    expect(await erase(api, first)).toMatchObject(errorReply(409, "content_needed"));
    const second = await api.bring("applied", { ...CONTENT, target: "UI.Banner" });
    const reply = await erase(api, first);
    expect(reply).toMatchObject(errorReply(409, "content_needed"));
    expect(reply.body.error).toContain("roll it back first, which leaves the host product as it is");
    await api.must("rollback", first);
    expect((await erase(api, first)).status).toBe(200);
    expect(await erase(api, second)).toMatchObject(errorReply(409, "content_needed"));
  });

  test("for a change without a value only until a later one is applied; rollback still works", async () => {
    const api = await core();
    const { value: _, ...withoutValue } = CONTENT;
    const first = await api.bring("applied", withoutValue);
    expect(await erase(api, first)).toMatchObject(errorReply(409, "content_needed"));
    await api.bring("applied");
    expect((await erase(api, first)).status).toBe(200);
    expect(await api.must("rollback", first)).toMatchObject({ status: "rolled_back", change: { summary: "erased" } });
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
  });

  test("while an emergency review is due", async () => {
    const api = await core({ intent: { policy: { break_glass: { approvers: ["oncall"] } } } });
    const { change_id } = await api.propose(CONTENT);
    await api.post("approve", { change_id, approver: "oncall", note: "now", emergency: true });
    await api.must("apply", change_id);
    await api.must("rollback", change_id);
    expect(await erase(api, change_id)).toMatchObject(errorReply(409, "content_needed"));
    await api.post("review", { change_id, approver: "ana", verdict: "accepted" });
    expect((await erase(api, change_id)).status).toBe(200);
  });

  test("for an erased change, and for an unknown one", async () => {
    const api = await core();
    const change_id = await api.bring("denied", CONTENT);
    await erase(api, change_id);
    expect(await erase(api, change_id)).toMatchObject(errorReply(400, "illegal_transition"));
    expect(await erase(api, "chg_none")).toMatchObject(errorReply(404, "change_not_found"));
  });
});

test("erase checks record, person, fields, operation, revision, status, proof, in this order", async () => {
  const ana = passkey();
  const adapter = scriptedAdapter();
  const policy = { approvers: ["ana", "bo"], signed_only: false };
  const api = makeCore(
    await openDeps({ adapter, identityHeader: "x-person", intent: { principals: { ana: person(ana) }, policy } }),
  );
  const asPerson = (name: string, more: object = {}) => ({ "x-person": name, ...more });
  const proposeAnd = async (...steps: ("approve" | "apply" | "deny")[]) => {
    const { change_id } = (await api.post("propose", { ...PROPOSAL, target: `ui.${steps.join("-")}` }, asPerson("pat")))
      .body;
    for (const step of steps) expect((await api.post(step, { change_id }, asPerson("bo"))).status).toBe(200);
    return change_id as string;
  };
  const stale = { "if-match": '"99"' };
  const code = async (fields: Fields, headers: Record<string, string>) =>
    (await api.post("erase", fields, headers)).body.code;
  // A time of signing without a proof is an invalid field.
  const at = api.deps.clock.iso();

  // Each request has all later faults too, so its error shows which check comes first.

  expect(await code({ change_id: "chg_none", actor: "pat", at }, asPerson("eve", stale))).toBe("change_not_found");
  const change_id = await proposeAnd("approve");
  await api.deps.store.transact(async (tx) => {
    const { value } = (await tx.get("changes", change_id))!;
    tx.put("changes", change_id, { ...value, change: { ...value.change, status: "denied" } } as never);
  });
  expect(await code({ change_id, actor: "pat", at }, asPerson("eve", stale))).toBe("evidence_mismatch");
  const busy = await proposeAnd("approve");
  expect(await code({ change_id: busy, actor: "pat", at }, asPerson("eve", stale))).toBe("identity_mismatch");
  expect(await code({ change_id: busy, actor: "eve", at }, asPerson("eve", stale))).toBe("not_permitted");
  expect(await code({ change_id: busy, at }, asPerson("ana", stale))).toBe("invalid_field");
  const [begun, mayEnd] = [makeBarrier(), makeBarrier()];
  adapter.on("apply", () => (begun.open(), mayEnd.opened), 1);
  const apply = api.post("apply", { change_id: busy }, asPerson("bo"));
  await begun.opened;
  expect(await code({ change_id: busy }, asPerson("ana", stale))).toBe("operation_in_progress");
  mayEnd.open();
  expect((await apply).status).toBe(200);
  const pending = await proposeAnd();
  expect(await code({ change_id: pending }, asPerson("ana", stale))).toBe("version_mismatch");
  expect(await code({ change_id: pending }, asPerson("ana"))).toBe("illegal_transition");
  expect(await code({ change_id: busy }, asPerson("ana"))).toBe("content_needed");
  const closed = await proposeAnd("deny");
  expect(await code({ change_id: closed }, asPerson("ana"))).toBe("proof_required");
  expect(await code({ change_id: closed }, asPerson("bo"))).toBeUndefined();
});

describe("the person who erases", () => {
  test("must be named, and is the person named by the proxy", async () => {
    const withoutProxy = await core();
    const change_id = await withoutProxy.bring("denied", CONTENT);
    expect(await withoutProxy.post("erase", { change_id })).toMatchObject(errorReply(400, "invalid_field"));
    const api = makeCore(await restartDeps(withoutProxy.deps, { identityHeader: "x-person" }));
    const asDana = { "x-person": "Dana" };
    expect(await api.post("erase", { change_id, actor: "dpo" }, asDana)).toMatchObject(
      errorReply(403, "identity_mismatch"),
    );
    const reply = await api.post("erase", { change_id }, asDana);
    expect(JSON.parse(reply.body.audit_entry.detail)).toMatchObject({ actor: "Dana", authenticated: "proxy" });
  });

  test("must send the current revision in If-Match, if any", async () => {
    const api = await core();
    const change_id = await api.bring("denied", CONTENT);
    const stale = await api.post("erase", { change_id, actor: "dpo" }, { "if-match": '"1"' });
    expect(stale).toMatchObject(errorReply(412, "version_mismatch"));
    expect((await api.post("erase", { change_id, actor: "dpo" }, { "if-match": '"2"' })).status).toBe(200);
  });

  test("must sign if they have keys, for this change only", async () => {
    const [ana, bo] = [passkey(), sshSigner()];
    const api = await core({ intent: { principals: { ana: person(ana), bo: person(bo) } } });
    const bringDenied = async () => {
      const { change_id } = await api.propose({ ...CONTENT, proposer: "eve" });
      const statement = await requestStatement(api, { decision: "deny", approver: "bo", change_id });
      await api.post("deny", { change_id, approver: "bo", ...proofFields(bo, statement) });
      return change_id;
    };
    const [first, second] = [await bringDenied(), await bringDenied()];
    for (const actor of ["ana", "dpo"])
      expect(await erase(api, first, { actor })).toMatchObject(errorReply(403, "proof_required"));
    const statement = await requestStatement(api, {
      decision: "erase",
      approver: "ana",
      change_id: first,
      note: "asked for",
    });
    const { digest } = await api.change(first);
    const { at } = JSON.parse(statement);
    const origin = (await api.audit())[0].origin;
    const { manifest_hash } = api.deps.product!;
    expect(statement).toBe(
      statementText({
        decision: "erase",
        actor: "ana",
        change_id: first,
        digest,
        note: "asked for",
        origin,
        manifest_hash,
        at,
      }),
    );
    const signed = { actor: "ana", ...proofFields(ana, statement) };
    expect(await erase(api, second, signed)).toMatchObject(errorReply(403, "proof_invalid"));
    const reply = await erase(api, first, signed);
    expect(JSON.parse(reply.body.audit_entry.detail)).toMatchObject({
      actor: "ana",
      authenticated: "signature",
      statement,
    });
    expect((await api.get("audit/verify")).body.valid).toBe(true);
  });
});
