/** A change whose content is not the consented content is not applied. */
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

/** Creates an approved change and edits its stored record without a log entry. */
async function tamperWithRecord(field: string, value: unknown) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved", { value: '{"on":true}', affected_users: 40, risk: "medium" });
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", change_id))!.value;
    tx.put("changes", change_id, { ...record, change: { ...record.change, [field]: value } });
  });
  return { api, adapter, change_id };
}

test.each(EDITS)(
  "an approved record edited to %s = %j is rejected with approval_stale, audited, and not applied",
  async (field, value) => {
    const { api, adapter, change_id } = await tamperWithRecord(field, value);
    expect(await api.act("apply", change_id)).toMatchObject({
      status: 409,
      body: { code: "approval_stale", change_id },
    });
    const entry = (await api.audit()).at(-1);
    expect(entry).toMatchObject({ event_type: "change_apply_failed", change_id });
    expect(JSON.parse(entry.detail)).toMatchObject({ stage: "consent", status: "approved" });
    expect((await api.change(change_id)).status).toBe("approved");
    expect(adapter.calls).toEqual([]);
  },
);

test("a dry run of an edited record is rejected with approval_stale too, and not audited", async () => {
  const { api, change_id } = await tamperWithRecord("value", 1);
  expect(await api.post("apply", { change_id, dry_run: 1 })).toMatchObject({
    status: 409,
    body: { code: "approval_stale" },
  });
  // The proposal and the consent.
  expect(await api.steps()).toHaveLength(2);
});

test("a record edited to approved, without a consent in the log, is not applied", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("pending_consent");
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", change_id))!.value;
    const forgedApproval = { approver: "ghost", note: "", at: record.change.created_at };
    const forged = {
      status: "approved" as const,
      approver: "ghost",
      approvals: [forgedApproval],
      decided_at: forgedApproval.at,
    };
    tx.put("changes", change_id, { ...record, change: { ...record.change, ...forged } });
  });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "evidence_mismatch" } });
  expect(adapter.calls).toEqual([]);
});

test("content edited together with its digest does not match the digest in the log", async () => {
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

test("an edited note does not match the note in the log", async () => {
  const { api, change_id } = await tamperWithRecord("approval_note", "edited");
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "evidence_mismatch" } });
});

/** Forged entry lists for the record of a pending change, made from its own entries and those of an approved change. */
const FORGED_LISTS: [
  name: string,
  entries: (ownEntries: readonly number[], otherEntries: readonly number[]) => readonly number[],
][] = [
  ["all entries of an approved change", (_, otherEntries) => otherEntries],
  [
    "its own proposal and the consent to an approved change",
    (ownEntries, otherEntries) => [ownEntries[0]!, otherEntries[1]!],
  ],
];

test.each(FORGED_LISTS)("a pending change whose record lists %s is not applied", async (_, entries) => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const [approved, pending] = [await api.bring("approved"), await api.bring("pending_consent")];
  await api.deps.store.transact(async (tx) => {
    const approvedRecord = (await tx.get("changes", approved))!.value;
    const pendingRecord = (await tx.get("changes", pending))!.value;
    const change = { ...approvedRecord.change, change_id: pending };
    tx.put("changes", pending, { ...pendingRecord, change, audit: entries(pendingRecord.audit, approvedRecord.audit) });
  });
  expect(await api.act("apply", pending)).toMatchObject({ status: 409, body: { code: "evidence_mismatch" } });
  expect(adapter.calls).toEqual([]);
  expect((await api.act("apply", approved)).status).toBe(200);
});
