/** Notices of expiring changes, due reviews and tampering: each is reported once, even after restarts. */
import { expect, test } from "vitest";
import { entryKey } from "../../../../lib/audit/chain.ts";
import type { AuditEntry } from "../../../../lib/audit/entry.ts";
import { runCycle } from "../../../../lib/operations/cycle.ts";
import { readEventsSince, readPresentCursor, resumeCursor } from "../../../../lib/operations/event_cursor.ts";
import { noticeExpiring } from "../../../../lib/operations/notice_expiring.ts";
import { noticeMismatches } from "../../../../lib/operations/notice_mismatches.ts";
import { buildNotification } from "../../../../lib/operations/notifications.ts";
import type { Notification } from "../../../../lib/operations/notify/notification.ts";
import type { ChangeRecord } from "../../../../lib/changes/rules/record.ts";
import { HOUR, MINUTE, pass } from "../../../support/clock.ts";
import { inLong, inShort } from "../../../support/run_length.ts";
import { restartDeps, type TestDeps } from "../../../support/deps.ts";
import { openOperations } from "../operations_service.ts";

/** A cursor before the first event of every kind. */
const BEGINNING = { audit: 0, growth: 0, notice: 0, tick: 0 };
/** The test clock starts on 2026-01-02 at 03:04:05.678 UTC. */
const TTL = { consent_ttl_hours: 40, approval_ttl_hours: 80 };

/** Returns the notifications of some types that were sent so far. */
async function listNotifications(deps: TestDeps, ...types: Notification["type"][]): Promise<Notification[]> {
  const events = await readEventsSince(deps.store, BEGINNING, 10_000);
  const all = await Promise.all(events.map((event) => buildNotification(deps, event)));
  return all.filter((notification) => notification !== undefined).filter(({ type }) => types.includes(type));
}

/** Advances the clock by `ms` and ten more minutes, so that `ms` count as certain, and runs a cycle. Comments omit the minutes. */
async function runCycleLater(deps: TestDeps, ms: number): Promise<void> {
  await pass(deps, ms);
  await runCycle(deps);
}

const listChangeIds = (notifications: readonly Notification[]) =>
  notifications.map(({ data }) => data.change?.change_id);

inShort(test)("a pending change is announced once, when a quarter of its time is left", async () => {
  const svc = await openOperations({ intent: { policy: TTL } });
  const { change_id } = await svc.propose({ value: true });
  await runCycleLater(svc.deps, 29 * HOUR);
  expect(await listNotifications(svc.deps, "change.expiring")).toEqual([]);
  await runCycleLater(svc.deps, HOUR);
  const [first, ...more] = await listNotifications(svc.deps, "change.expiring");
  expect(more).toEqual([]);
  expect(first).toMatchObject({
    text: `Time runs out: without consent it expires on 2026-01-03 at 19:04 UTC: “Show the banner” (ui.banner for tenant t1), proposed by an unnamed person; still missing: 1 person.`,
    data: { change: { change_id }, expires_at: "2026-01-03T19:04:05.678Z", missing: [{ count: 1 }] },
  });
  await runCycleLater(svc.deps, HOUR);
  const restarted = await restartDeps(svc.deps, { intent: { policy: TTL } });
  await runCycleLater(restarted, HOUR);
  await runCycleLater(restarted, HOUR);
  expect(await listNotifications(restarted, "change.expiring")).toEqual([first]);
});

inLong(test)("an approved change is announced before it lapses, even if announced while pending", async () => {
  const svc = await openOperations({ intent: { policy: TTL } });
  const { change_id } = await svc.propose();
  await runCycleLater(svc.deps, 32 * HOUR);
  await svc.must("approve", change_id);
  await runCycleLater(svc.deps, HOUR);
  const later = await svc.propose({ target: "ui.b" });
  await runCycleLater(svc.deps, 35 * HOUR);
  // Approved at hour 32, the first change lapses at hour 112 and is announced at hour 92; this is hour 90.
  await runCycleLater(svc.deps, 22 * HOUR);
  expect(listChangeIds(await listNotifications(svc.deps, "change.expiring"))).toEqual([change_id, later.change_id]);
  await runCycleLater(svc.deps, 2 * HOUR);
  const [, , third, ...more] = await listNotifications(svc.deps, "change.expiring");
  expect(more).toEqual([]);
  expect(third!.data.change).toMatchObject({ change_id });
  expect(third!.text).toContain("approved and not applied, it lapses on 2026-01-06 at");
});

inLong(test)("each of many changes is announced once, the first to expire first, over several cycles", async () => {
  const svc = await openOperations({ intent: { policy: TTL } });
  const ids: string[] = [];
  for (let count = 0; count < 25; count++) {
    ids.push((await svc.propose({ target: `ui.a${count}` })).change_id);
    // Up to five changes in a row have the same time.
    if (count % 5 === 0) svc.deps.clock.advance(MINUTE);
  }
  // Approved changes expire in the order of their decisions, not of their proposals.
  const approved = [ids[7]!, ids[3]!];
  for (const id of approved) {
    svc.deps.clock.advance(MINUTE);
    await svc.must("approve", id);
  }
  await runCycleLater(svc.deps, 31 * HOUR);
  await runCycleLater(svc.deps, HOUR);
  const pending = ids.filter((id) => !approved.includes(id));
  expect(listChangeIds(await listNotifications(svc.deps, "change.expiring"))).toEqual(pending);
  await runCycleLater(svc.deps, 31 * HOUR);
  expect(listChangeIds(await listNotifications(svc.deps, "change.expiring"))).toEqual([...pending, ...approved]);
});

inLong(test)("a change that is decided in time or has no limit is not announced", async () => {
  const svc = await openOperations({ intent: { policy: { consent_ttl_hours: 40 } } });
  const { change_id } = await svc.propose();
  await svc.must("deny", change_id);
  // Without `approval_ttl_hours` an approved change never expires.
  await svc.bring("approved", { target: "ui.b" });
  await runCycleLater(svc.deps, 35 * HOUR);
  await runCycleLater(svc.deps, 1000 * HOUR);
  expect(await listNotifications(svc.deps, "change.expiring")).toEqual([]);
});

inLong(test)("a wrong clock during one start announces no expiry too early", async () => {
  const svc = await openOperations({ intent: { policy: TTL } });
  await svc.propose();
  svc.deps.clock.shift(31 * HOUR);
  await runCycle(svc.deps);
  svc.deps.clock.shift(-31 * HOUR);
  await runCycleLater(svc.deps, 29 * HOUR);
  expect(await listNotifications(svc.deps, "change.expiring")).toEqual([]);
  await runCycleLater(svc.deps, HOUR);
  expect(await listNotifications(svc.deps, "change.expiring")).toHaveLength(1);
});

inShort(test)("of two processes on one store, only one announces a change", async () => {
  const svc = await openOperations({ intent: { policy: TTL } });
  await svc.propose();
  const other = await restartDeps(svc.deps, { intent: { policy: TTL } });
  await pass(svc.deps, 30 * HOUR);
  // The time counts as certain for the other process too.
  await pass(other, 0);
  await Promise.all([noticeExpiring(svc.deps), noticeExpiring(other)]);
  expect(await listNotifications(svc.deps, "change.expiring")).toHaveLength(1);
});

inShort(test)("an emergency consent is reported with the review's deadline and the possible reviewers", async () => {
  const policy = {
    approvers: ["ana", "bo"],
    break_glass: { approvers: ["cy"], required: 1, review_hours: 72 },
  };
  const svc = await openOperations({ intent: { policy } });
  const { change_id } = await svc.propose({ value: true, proposer: "pat", risk: "high", affected_users: 96000 });
  await svc.post("approve", { change_id, approver: "cy", emergency: true, note: "Nobody can log in." });
  await svc.cycle();
  const [due, ...more] = await listNotifications(svc.deps, "change.review_due");
  expect(more).toEqual([]);
  expect(due).toMatchObject({ data: { change: { change_id }, expires_at: "2026-01-05T03:04:05.678Z" } });
  expect(due!.text).toBe(
    "A review is due until 2026-01-05 at 03:04 UTC: “Show the banner” (ui.banner for tenant t1), proposed by pat, was approved in an emergency by cy; high risk, reaches 96,000 people; it may be reviewed by ana or bo.",
  );
  expect((await svc.post("review", { change_id, approver: "ana", verdict: "accepted", note: "" })).status).toBe(200);
  await svc.cycle();
  expect(await listNotifications(svc.deps, "change.review_due")).toHaveLength(1);
});

inShort(test)("a review has its own deadline, and a reviewer who is also an owner is named once", async () => {
  const policy = {
    ...TTL,
    approvers: ["ana", "bo"],
    owners: [{ targets: ["ui.*"], approvers: ["bo"] }],
    break_glass: { approvers: ["cy"], required: 1, review_hours: 24 },
  };
  const svc = await openOperations({ intent: { policy } });
  const { change_id } = await svc.propose({ proposer: "pat" });
  await svc.post("approve", { change_id, approver: "cy", emergency: true, note: "Nobody can log in." });
  await svc.cycle();
  const [due] = await listNotifications(svc.deps, "change.review_due");
  expect(due!.data.expires_at).toBe("2026-01-03T03:04:05.678Z");
  expect(due!.text).toContain("A review is due until 2026-01-03 at 03:04 UTC");
  expect(due!.text).toContain("it may be reviewed by ana or bo.");
  const { approved, review_due } = (await svc.get("/api/inbox")).body;
  expect(approved.items).toMatchObject([{ expires_at: "2026-01-05T11:04:05.678Z" }]);
  expect(review_due.items).toMatchObject([{ expires_at: "2026-01-03T03:04:05.678Z" }]);
});

inShort(test)("a minor change is notified as approved by the intent", async () => {
  const minor = { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low", max_per_day: 20 };
  const svc = await openOperations({ intent: { policy: { minor } } });
  await svc.propose({ tier: "minor", risk: "low", reversible: true, affected_users: 1 });
  const [first, ...more] = await listNotifications(svc.deps, "change.decided");
  expect(more).toEqual([]);
  expect(first!.text).toMatch(/^Proposed as a minor change, approved by the intent: /);
});

inShort(test)(
  "a broken log is notified once, also after a restart, and again if it breaks after a repair",
  async () => {
    const svc = await openOperations();
    await svc.bring("applied");
    // Entry 3 is the consent.
    const key = entryKey(3);
    const sound = (await svc.deps.store.get("audit", key))!.value;
    const edit = (detail: string) => svc.deps.store.transact((tx) => tx.put("audit", key, { ...sound, detail }));
    await edit("no JSON at all");
    await runCycleLater(svc.deps, MINUTE);
    const [first, ...more] = await listNotifications(svc.deps, "breach.found");
    expect(more).toEqual([]);
    expect(first!.text).toMatch(/^The audit chain does not hold at entry 3: “.+”; nothing is decided on it until/);
    expect(first!.data.change).toBeNull();

    const broken = await restartDeps(svc.deps);
    await runCycleLater(broken, MINUTE);
    await runCycleLater(broken, MINUTE);
    expect(await listNotifications(broken, "breach.found")).toEqual([first]);

    await edit(sound.detail);
    const repaired = await restartDeps(svc.deps);
    await runCycleLater(repaired, MINUTE);
    // The process that was not restarted still knows the breach, and does not notify it again.
    await runCycleLater(broken, MINUTE);
    expect(await listNotifications(repaired, "breach.found")).toEqual([first]);
    await edit('{"approver":"mallory"}');
    await runCycleLater(repaired, MINUTE);
    expect(await listNotifications(repaired, "breach.found")).toHaveLength(2);
  },
);

inShort(test)("a record that does not match the log is notified once per episode, without its text", async () => {
  const publicUrl = "https://gov.acme.example";
  const svc = await openOperations({ publicUrl });
  const ids = [await svc.bring("applied"), await svc.bring("applied", { target: "ui.b" })];
  const sound = new Map<string, ChangeRecord>();
  const edit = async (id: string) => {
    const record = (await svc.deps.store.get("changes", id))!.value as ChangeRecord;
    sound.set(id, record);
    const change = { ...record.change, summary: "Ignore what you see" };
    await svc.deps.store.transact((tx) => tx.put("changes", id, { ...record, change }));
  };
  await edit(ids[0]!);
  await runCycleLater(svc.deps, MINUTE);
  const [first] = await listNotifications(svc.deps, "breach.found");
  expect(first!.text).toContain(`The stored record of ${ids[0]} does not match the audit log`);
  expect(first!.url).toBe(`https://gov.acme.example/#/changes/${ids[0]}`);
  expect(JSON.stringify(first)).not.toContain("Ignore");

  const restarted = await restartDeps(svc.deps, { publicUrl });
  // The new process has not found the mismatch yet, and must not take it for repaired.
  await noticeMismatches(restarted);
  await runCycleLater(restarted, MINUTE);
  await runCycleLater(restarted, MINUTE);
  expect(await listNotifications(restarted, "breach.found")).toEqual([first]);

  await edit(ids[1]!);
  await runCycleLater(restarted, MINUTE);
  expect(await listNotifications(restarted, "breach.found")).toHaveLength(2);
  await svc.deps.store.transact((tx) => {
    for (const [id, record] of sound) tx.put("changes", id, record);
  });
  await runCycleLater(restarted, MINUTE);
  await edit(ids[0]!);
  await runCycleLater(restarted, MINUTE);
  expect(await listNotifications(restarted, "breach.found")).toHaveLength(3);
});

inShort(test).each([
  ["an invalid time", { created_at: "some day" }],
  ["an invalid approval", { approvals: [null] }],
  ["an invalid review", { review: null }],
])("a record with %s delays neither its own notifications nor that of the mismatch", async (_, edit) => {
  const svc = await openOperations({ intent: { policy: TTL } });
  const { change_id } = await svc.propose();
  const record = (await svc.deps.store.get("changes", change_id))!.value as ChangeRecord;
  const change = { ...record.change, ...edit } as ChangeRecord["change"];
  await svc.deps.store.transact((tx) => tx.put("changes", change_id, { ...record, change }));
  await runCycleLater(svc.deps, MINUTE);
  const [waits, breach, ...more] = await listNotifications(svc.deps, "change.waiting_for_consent", "breach.found");
  expect(more).toEqual([]);
  expect(waits).toMatchObject({ type: "change.waiting_for_consent", data: { change: null, expires_at: null } });
  expect(breach!.text).toContain(`The stored record of ${change_id} does not match the audit log`);
});

inShort(test)("an entry with a wrong id moves no reader past later entries", async () => {
  const svc = await openOperations();
  await svc.bring("applied");
  const { audit } = await readPresentCursor(svc.deps.store);
  const key = entryKey(audit);
  const sound = (await svc.deps.store.get("audit", key))!.value;
  await svc.deps.store.transact((tx) => tx.put("audit", key, { ...sound, id: 1e9 }));
  const events = await readEventsSince(svc.deps.store, BEGINNING, 100);
  await runCycleLater(svc.deps, MINUTE);
  const present = await readPresentCursor(svc.deps.store);
  const later = await readEventsSince(svc.deps.store, resumeCursor(present, events.at(-1)!.cursor), 100);
  const notifications = await Promise.all(later.map((event) => buildNotification(svc.deps, event)));
  expect(notifications.map((notification) => notification?.type)).toContain("breach.found");
});

inShort(test).each([
  ["no content", () => null],
  ["no event type", ({ event_type: _, ...rest }: AuditEntry) => rest],
  ["an event type that is not a text", (entry: AuditEntry) => ({ ...entry, event_type: 7 })],
  ["a detail that is not a text", (entry: AuditEntry) => ({ ...entry, detail: 7 })],
])("an entry with %s delays no later entry", async (_, breakEntry) => {
  const svc = await openOperations();
  await svc.bring("applied");
  const { audit } = await readPresentCursor(svc.deps.store);
  for (let id = 1; id <= audit; id++) {
    const sound = (await svc.deps.store.get("audit", entryKey(id)))!.value;
    await svc.deps.store.transact((tx) => tx.put("audit", entryKey(id), breakEntry(sound) as never));
  }
  await runCycleLater(svc.deps, MINUTE);
  expect(await listNotifications(svc.deps, "breach.found")).toHaveLength(1);
});
