/** `audit/verify` finds edits of the log by a person who can write the store. */
import { expect, test } from "vitest";
import { type ChainHead, entryKey, nextEntry } from "../../../lib/audit/chain.ts";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { entryHash } from "../../../lib/audit/entry_hash.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import type { Store, Tx } from "../../../lib/store/store.ts";
import { PROPOSAL, type Reply } from "../../support/client.ts";
import { restartDeps } from "../../support/deps.ts";
import { service, makeService } from "../../support/service.ts";

const LENGTH = 10;

/** Creates a log of ten entries, and the query with which an auditor who stored its length and head verifies it. */
async function createTenEntryLog() {
  const api = await service();
  await api.bring("rolled_back");
  await api.bring("applied");
  await api.post("kpi", { csat: 4 });
  await api.propose({ tenant_id: "t2" });
  const entries: AuditEntry[] = await api.audit();
  expect(entries).toHaveLength(LENGTH);
  return { api, entries, expectedQuery: `?expected_length=${LENGTH}&expected_head=${entries.at(-1)!.current_hash}` };
}

const put = (tx: Tx, id: number, entry: unknown): void => tx.put("audit", entryKey(id), entry as AuditEntry);
const damage = (store: Store, write: (tx: Tx) => unknown): Promise<unknown> => store.transact((tx) => void write(tx));
const withNewHash = (entry: AuditEntry): AuditEntry => ({ ...entry, current_hash: entryHash(entry, portableSha256) });

/** Rewrites the log as a valid chain of the same events, each changed by `edit`, with a matching head. */
function rewrite(tx: Tx, entries: readonly AuditEntry[], edit: (entry: AuditEntry) => AuditEntry): void {
  let head: ChainHead = { origin: entries[0]!.origin, length: 0, head: "0".repeat(64), at: "" };
  for (const old of entries) {
    const edited = edit(old);
    const { entry, head: after } = nextEntry(head, edited, edited.timestamp, portableSha256);
    put(tx, entry.id, entry);
    head = after;
  }
  tx.put("meta", "chain", head);
}

/** Returns the result of `audit/verify` in a process that started after the damage. */
async function verifyAfterRestart(api: Awaited<ReturnType<typeof service>>, query = ""): Promise<Reply["body"]> {
  return (await makeService(await restartDeps(api.deps)).get(`audit/verify${query}`)).body;
}

/** Returns the reply to a proposal in a process that started after the damage. */
const proposeAfterRestart = async (api: Awaited<ReturnType<typeof service>>): Promise<Reply> =>
  makeService(await restartDeps(api.deps)).post("propose", PROPOSAL);

const EDITS: [description: string, edit: Record<string, unknown>][] = [
  ["origin", { origin: "acme-crm/audit/00" }],
  ["id", { id: 40 }],
  ["id as text", { id: "4" }],
  ["timestamp", { timestamp: "2026-01-02T03:04:05.679Z" }],
  ["timestamp, to before its time", { timestamp: "2020-01-02T03:04:05.678Z" }],
  ["event_type", { event_type: "change_drifted" }],
  ["change_id", { change_id: "chg_2" }],
  ["tenant", { tenant: "t9" }],
  ["detail", { detail: '{"status":"denied"}' }],
  ["previous_hash", { previous_hash: "a".repeat(64) }],
  ["current_hash", { current_hash: "a".repeat(64) }],
  ...[
    "origin",
    "id",
    "timestamp",
    "event_type",
    "change_id",
    "tenant",
    "detail",
    "previous_hash",
    "current_hash",
  ].flatMap((field): [string, Record<string, unknown>][] => [
    [`${field} to null`, { [field]: null }],
    [`${field}, which is removed`, { [field]: undefined }],
    [`${field} to an object`, { [field]: {} }],
  ]),
];

test.each(EDITS)("an edit of %s is found at the edited entry", async (_, edit) => {
  const { api, entries } = await createTenEntryLog();
  for (const at of [1, 4, LENGTH]) {
    await damage(api.deps.store, (tx) => put(tx, at, { ...entries[at - 1]!, ...edit }));
    expect(await verifyAfterRestart(api), `entry ${at}`).toMatchObject({ valid: false, first_invalid: at });
    await damage(api.deps.store, (tx) => put(tx, at, entries[at - 1]));
  }
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: true });
});

test("an additional field that the hash does not cover is found", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => put(tx, 4, { ...entries[3]!, note: "approved by the board" }));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 4 });
});

test("an edit with a recomputed hash is found at the next entry", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => put(tx, 4, withNewHash({ ...entries[3]!, tenant: "t9" })));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 5 });
});

test("an edit of the last entry with a recomputed hash is found by the head", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => put(tx, LENGTH, withNewHash({ ...entries.at(-1)!, tenant: "t9" })));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: LENGTH });
});

test.each([1, 5, LENGTH])("a deleted entry %i is found", async (at) => {
  const { api } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => tx.delete("audit", entryKey(at)));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: at });
});

test("a deleted entry is found although later entries were renumbered", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => {
    for (let id = 5; id < LENGTH; id++) put(tx, id, { ...entries[id]!, id });
    tx.delete("audit", entryKey(LENGTH));
  });
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 5 });
});

test("swapped entries are found, also when they were renumbered", async () => {
  const { api, entries } = await createTenEntryLog();
  for (const renumbered of [true, false]) {
    await damage(api.deps.store, (tx) => {
      put(tx, 4, renumbered ? { ...entries[4]!, id: 4 } : entries[4]);
      put(tx, 5, renumbered ? { ...entries[3]!, id: 5 } : entries[3]);
    });
    expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 4 });
  }
});

test("an inserted entry is found", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => {
    const head = { origin: entries[0]!.origin, length: 4, head: entries[3]!.current_hash, at: entries[3]!.timestamp };
    const { entry } = nextEntry(head, { event_type: "change_applied", detail: "" }, head.at, portableSha256);
    put(tx, 5, entry);
    for (let id = 6; id <= LENGTH + 1; id++) put(tx, id, { ...entries[id - 2]!, id });
    tx.put("meta", "chain", { ...head, length: LENGTH + 1, head: entries.at(-1)!.current_hash });
  });
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 6 });
});

test("entries of another log are found, whether one or all are replaced", async () => {
  const { api, entries } = await createTenEntryLog();
  const other = await createTenEntryLog();
  await damage(api.deps.store, (tx) => put(tx, 4, other.entries[3]));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 4 });
  await damage(api.deps.store, (tx) => {
    for (const entry of other.entries) put(tx, entry.id, entry);
    const { id: length, current_hash: head, timestamp: at } = other.entries.at(-1)!;
    tx.put("meta", "chain", { origin: entries[0]!.origin, length, head, at });
  });
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 1 });
});

test("a truncated log with a corrected head is found by its changes, or by a stored length", async () => {
  const { api, entries, expectedQuery } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => {
    for (let id = 6; id <= LENGTH; id++) tx.delete("audit", entryKey(id));
    const { id: length, current_hash: head, timestamp: at, origin } = entries[4]!;
    tx.put("meta", "chain", { origin, length, head, at });
  });
  expect(await verifyAfterRestart(api)).toMatchObject({
    valid: false,
    length: 5,
    first_invalid: null,
    reason: expect.stringContaining("state_mismatch"),
    not_checked: ["tail_truncation", "full_rewrite"],
  });
  expect(await verifyAfterRestart(api, `?expected_length=${LENGTH}`)).toMatchObject({ valid: false, first_invalid: 6 });
  expect(await verifyAfterRestart(api, expectedQuery)).toMatchObject({ valid: false });
});

test("a truncated log without a corrected head is found", async () => {
  const { api } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => tx.delete("audit", entryKey(LENGTH)));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: LENGTH });
});

test("a complete rewrite is found only by comparison with a stored head", async () => {
  const { api, entries, expectedQuery } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => rewrite(tx, entries, (entry) => ({ ...entry, tenant: "t9" })));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: true, length: LENGTH });
  expect(await verifyAfterRestart(api, `?expected_length=${LENGTH}`)).toMatchObject({
    valid: true,
    not_checked: ["full_rewrite"],
  });
  expect(await verifyAfterRestart(api, expectedQuery)).toMatchObject({ valid: false });
});

test("a skipped id is found although every hash matches", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => {
    let previous = entries[3]!.current_hash;
    for (const old of entries.slice(4)) {
      const entry = withNewHash({ ...old, id: old.id + 1, previous_hash: previous });
      put(tx, old.id, entry);
      previous = entry.current_hash;
    }
    const { origin, timestamp: at } = entries[0]!;
    tx.put("meta", "chain", { origin, length: LENGTH, head: previous, at });
  });
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 5 });
});

test("a timestamp before the previous one is found although every hash matches", async () => {
  const { api, entries } = await createTenEntryLog();
  const setBackEntry5 = (entry: AuditEntry): AuditEntry =>
    entry.id === 5 ? { ...entry, timestamp: "2026-01-02T03:04:05.677Z" } : entry;
  await damage(api.deps.store, (tx) => rewrite(tx, entries, setBackEntry5));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 5 });
});

// After 60 seconds the process does not reuse its earlier verification.
test.each<[cut: number, when: string, waitMs: number]>([
  [4, "immediately", 0],
  [1, "immediately", 0],
  [1, "in the next complete verification", 60_000],
])("a truncation by %i entries is reported %s by a process that has read the longer log", async (cut, _, waitMs) => {
  const { api, entries } = await createTenEntryLog();
  const remaining = LENGTH - cut;
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, length: LENGTH });
  await damage(api.deps.store, (tx) => {
    for (let id = remaining + 1; id <= LENGTH; id++) tx.delete("audit", entryKey(id));
    const { id: length, current_hash: head, timestamp: at, origin } = entries[remaining - 1]!;
    tx.put("meta", "chain", { origin, length, head, at });
  });
  api.deps.clock.advance(waitMs);
  const { body } = await api.get("audit/verify");
  expect(body).toMatchObject({
    valid: false,
    first_invalid: remaining + 1,
    reason: expect.stringContaining("tail was cut"),
  });
});

test("a process that has read the log reports a rewrite in its next complete verification", async () => {
  const { api, entries } = await createTenEntryLog();
  expect((await api.get("audit/verify")).body.valid).toBe(true);
  await damage(api.deps.store, (tx) => rewrite(tx, entries, (entry) => ({ ...entry, tenant: "t9" })));
  api.deps.clock.advance(60_000);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: false, first_invalid: LENGTH });
});

test("entries beyond the head are found", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => {
    const { id: length, current_hash: head, timestamp: at, origin } = entries[4]!;
    tx.put("meta", "chain", { origin, length, head, at });
  });
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 6 });
  const { status, body } = await proposeAfterRestart(api);
  expect([status, body.code]).toEqual([503, "chain_broken"]);
});

test("a missing head is found, and no new log replaces the old one", async () => {
  const { api } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => tx.delete("meta", "chain"));
  expect(await verifyAfterRestart(api)).toMatchObject({ valid: false, first_invalid: 1 });
  const { status, body } = await proposeAfterRestart(api);
  expect([status, body.code]).toEqual([503, "chain_broken"]);
});

test("a breach rejects writes and fails readiness; reads continue; a restart finds it again", async () => {
  const { api, entries } = await createTenEntryLog();
  await damage(api.deps.store, (tx) => put(tx, 4, { ...entries[3]!, detail: "" }));
  const { change_id } = entries.at(-1)!;
  const restarted = makeService(await restartDeps(api.deps));
  for (const client of [restarted, await verifyAgain(api)]) {
    for (const [path, fields] of [
      ["propose", PROPOSAL],
      ["kpi", { csat: 1 }],
    ] as const)
      expect(await client.post(path, fields)).toMatchObject({
        status: 503,
        body: { code: "chain_broken", first_invalid: 4 },
      });
    for (const action of ["approve", "deny", "withdraw"] as const)
      expect((await client.act(action, change_id)).body.code).toBe("chain_broken");
    expect(await client.get("/readyz")).toMatchObject({
      status: 503,
      body: { ready: false, checks: { chain: { ok: false } } },
    });
    for (const path of [
      "runtime",
      "audit",
      "audit?format=jsonl",
      "approvals",
      `changes/${change_id}`,
      "/livez",
      "/api/state",
    ])
      expect((await client.get(path)).status, path).toBe(200);
    expect((await client.get("audit/verify")).body).toMatchObject({ valid: false, first_invalid: 4 });
    const { capabilities } = (await client.get("/api/capabilities")).body;
    expect(capabilities.find(({ id }: { id: string }) => id === "audit_chain")).toMatchObject({ status: "failing" });
  }
  expect((await api.deps.store.get("meta", "chain"))?.value.length).toBe(LENGTH);
});

/** Returns the service, which was running when the log was damaged, after it verified the log again. */
async function verifyAgain(api: Awaited<ReturnType<typeof service>>) {
  // A result of at most five seconds ago would be reused.
  api.deps.clock.advance(6000);
  await api.get("audit/verify");
  return api;
}
