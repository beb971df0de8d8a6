/** Content that is not what consent was given to is not applied. */
import { expect, test } from "vitest";
import { readRecord } from "../../../lib/changes/records.ts";
import { contentDigest } from "../../../lib/changes/rules/content.ts";
import type { ChangeRecord } from "../../../lib/changes/rules/record.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { core } from "../../support/core.ts";

const EDITS: [field: string, value: unknown][] = [
  ["tenant_id", "t2"],
  ["kind", "code_patch"],
  ["target", "ui.other"],
  ["value", { on: false }],
  ["value", undefined],
  ["summary", "Another"],
  ["rationale", "Another"],
  ["expected_delta_k", 99],
  ["affected_users", 1],
  ["reversible", false],
  ["tier", "minor"],
  ["risk", "low"],
  ["kpi", "csat"],
  ["proposer", "eve"],
];

/** An approved change whose stored record is edited behind the service's back. */
async function tampered(field: string, value: unknown) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved", { value: '{"on":true}', affected_users: 40, risk: "medium" });
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", change_id))!.value;
    tx.put("changes", change_id, { ...record, change: { ...record.change, [field]: value } });
  });
  return { api, adapter, change_id };
}

test.each(EDITS)("%s = %j: 409 approval_stale, audited, and the host is not touched", async (field, value) => {
  const { api, adapter, change_id } = await tampered(field, value);
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "approval_stale", change_id } });
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "change_apply_failed", change_id });
  expect(JSON.parse(entry.detail)).toMatchObject({ stage: "consent", status: "approved" });
  expect((await api.change(change_id)).status).toBe("approved");
  expect(adapter.calls).toEqual([]);
});

test("a dry run says so too, and audits nothing", async () => {
  const { api, change_id } = await tampered("value", 1);
  expect(await api.post("apply", { change_id, dry_run: 1 })).toMatchObject({
    status: 409,
    body: { code: "approval_stale" },
  });
  expect(await api.steps()).toHaveLength(2);
});

test("a consent without log entry does not count: a record edited to approved is not applied", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("pending_consent");
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", change_id))!.value;
    const ghost = { approver: "ghost", note: "", at: record.change.created_at };
    const forged = { status: "approved" as const, approver: "ghost", approvals: [ghost], decided_at: ghost.at };
    tx.put("changes", change_id, { ...record, change: { ...record.change, ...forged } });
  });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "evidence_mismatch" } });
  expect(adapter.calls).toEqual([]);
});

test("content edited together with its digest is verified against the digest in the log", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  await api.deps.store.transact(async (tx) => {
    const record = (await readRecord(tx, change_id)) as ChangeRecord;
    const change = { ...record.change, summary: "Another" };
    tx.put("changes", change_id, { ...record, change: { ...change, digest: contentDigest(change, api.deps.sha256) } });
  });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "evidence_mismatch" } });
  expect(adapter.calls).toEqual([]);
});

test("an edited note is verified against the note in the log", async () => {
  const { api, change_id } = await tampered("approval_note", "edited");
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "evidence_mismatch" } });
});

/** Entries that the record of a pending change may name, from its own and those of an approved one. */
const BORROWED: [what: string, entries: (own: readonly number[], others: readonly number[]) => readonly number[]][] = [
  ["all entries of an approved one", (_, others) => others],
  ["its own proposal, and the consent to an approved one", (own, others) => [own[0]!, others[1]!]],
];

test.each(BORROWED)("a change that claims %s, of the same content, is not applied", async (_, entries) => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const [approved, pending] = [await api.bring("approved"), await api.bring("pending_consent")];
  await api.deps.store.transact(async (tx) => {
    const others = (await tx.get("changes", approved))!.value;
    const own = (await tx.get("changes", pending))!.value;
    const change = { ...others.change, change_id: pending };
    tx.put("changes", pending, { ...own, change, audit: entries(own.audit, others.audit) });
  });
  expect(await api.act("apply", pending)).toMatchObject({ status: 409, body: { code: "evidence_mismatch" } });
  expect(adapter.calls).toEqual([]);
  expect((await api.act("apply", approved)).status).toBe(200);
});
