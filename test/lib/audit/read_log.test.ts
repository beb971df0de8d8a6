/** Reads of the log while transactions append to it: entries that are not durable are neither read nor reported as a breach. */
import { describe, expect, test } from "vitest";
import { entryKey, nextEntry, readHead } from "../../../lib/audit/chain.ts";
import { createLogIndex } from "../../../lib/audit/log_index.ts";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { LogNotIndexed, extendLogIndex } from "../../../lib/audit/read_log.ts";
import { createEvidence } from "../../../lib/changes/evidence.ts";
import { scanIntegrity } from "../../../lib/changes/integrity_scan.ts";
import { findSubjects } from "../../../lib/changes/subjects.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { core, makeCore } from "../../support/core.ts";
import { restartDeps, type TestDeps } from "../../support/deps.ts";
import { failingStore } from "../../support/failing_store.ts";

/** Wraps a store so that a function runs before the next `get` (of the head) or `list` (of entries) outside transactions returns. */
function storeWithInterrupts(store: Store) {
  let interrupt: { method: "get" | "list"; run: () => unknown } | undefined;
  const runInterrupt = async (method: "get" | "list"): Promise<void> => {
    if (interrupt?.method !== method) return;
    const { run } = interrupt;
    interrupt = undefined;
    await run();
  };
  const reads: Pick<Store, "get" | "list"> = {
    async get(collection, id) {
      const record = await store.get(collection, id);
      await runInterrupt("get");
      return record;
    },
    async list(collection, options) {
      const page = await store.list(collection, options);
      await runInterrupt("list");
      return page;
    },
  };
  return {
    ...store,
    ...reads,
    interrupt: (method: "get" | "list", run: () => unknown) => void (interrupt = { method, run }),
  };
}

/** Starts two processes on one store: `api`, whose reads can be interrupted and whose writes can fail, and `other`. */
async function startTwoProcesses() {
  const disk = memoryStore();
  const other = await core({ store: disk });
  const failing = failingStore(disk);
  const store = storeWithInterrupts(failing);
  const api = makeCore(await restartDeps(other.deps, { store }));
  return { other, failing, store, api };
}

/** Returns an entry that continues the log, as a transaction that never becomes durable would append it. */
async function nextUndurableEntry(deps: TestDeps): Promise<AuditEntry> {
  const head = (await readHead(deps.store))!;
  return nextEntry(head, { event_type: "kpi_refreshed", detail: "in vain" }, head.at, deps.sha256).entry;
}

const expectNoBreach = async ({ deps }: { deps: TestDeps }): Promise<void> => {
  // Two integrity scans are at least 5 s apart.
  deps.clock.advance(60_000);
  await scanIntegrity(deps);
  expect(deps.integrity.breach).toBeUndefined();
};

describe("no breach is reported when, during a read of the log,", () => {
  test("a transaction appends entries and cannot be committed", async () => {
    const { other, failing, store, api } = await startTwoProcesses();
    const id = await api.bring("approved");
    await other.post("kpi", { csat: 4 });
    store.interrupt("list", async () => {
      failing.fail();
      expect((await api.act("apply", id)).status).toBe(503);
      failing.recover();
    });
    await extendLogIndex(api.deps, api.deps.integrity.logIndex!, 1);
    await expectNoBreach(api);
    expect((await api.act("apply", id)).status).toBe(200);
  });

  test.each([1, 2])("another process appends %i entries before a transaction commits", async (count) => {
    const { other, store, api } = await startTwoProcesses();
    const id = await api.bring("approved");
    const { logIndex } = api.deps.integrity;
    const undurableEntry = await nextUndurableEntry(api.deps);
    for (let entry = 0; entry < count; entry++) await other.post("kpi", { csat: entry });
    store.interrupt("list", () => expect(logIndex!.append(undurableEntry)).toBe(true));
    await extendLogIndex(api.deps, logIndex!, 1);
    await expectNoBreach(api);
    expect((await api.act("apply", id)).status).toBe(200);
  });

  test("a transaction appends an entry that is not durable yet", async () => {
    const { store, api } = await startTwoProcesses();
    await api.bring("approved");
    const { logIndex } = api.deps.integrity;
    const undurableEntry = await nextUndurableEntry(api.deps);
    store.interrupt("get", () => expect(logIndex!.append(undurableEntry)).toBe(true));
    await extendLogIndex(api.deps, logIndex!, logIndex!.durable.length + 1);
    await expectNoBreach(api);
  });

  test("a transaction appends to a log that the process has not read", async () => {
    const { store, api } = await startTwoProcesses();
    await api.bring("approved");
    const { length, head } = (await readHead(api.deps.store))!;
    const logIndex = createLogIndex({ length, head }, findSubjects);
    const undurableEntry = await nextUndurableEntry(api.deps);
    store.interrupt("get", () => expect(logIndex.append(undurableEntry)).toBe(true));
    await extendLogIndex(api.deps, logIndex, 1);
    expect(logIndex.after).toBe(0);
    expect(logIndex.durable.length).toBe(length);
  });
});

describe("an entry that is not durable yet", () => {
  /** Starts a process whose index has an entry that is not durable; `transaction` and `log` are what its transaction reads. */
  async function startWithPendingEntry() {
    const api = await core();
    const id = await api.bring("pending_consent");
    const { store, sha256, integrity } = api.deps;
    const logIndex = integrity.logIndex!;
    const durable = (await readHead(store))!;
    const { entry, head } = nextEntry(
      durable,
      { event_type: "consent_decision", change_id: id, detail: "" },
      durable.at,
      sha256,
    );
    expect(logIndex.append(entry)).toBe(true);
    const list = (async () => [{ id: entryKey(entry.id), revision: 1, value: entry }]) as unknown as Store["list"];
    return { id, transaction: { ...store, list }, store, logIndex, durable, log: { logIndex, head, sha256 } };
  }

  test("is not reported as missing when the cache is cleared during a decision", async () => {
    const { id, transaction, logIndex, log } = await startWithPendingEntry();
    const reading = createEvidence(transaction, log).entriesAbout(id, 1);
    logIndex.reset();
    await expect(reading).rejects.toThrow(LogNotIndexed);
  });

  test("stays in the index when another caller reads the durable entries", async () => {
    const { id, store, logIndex, durable, log } = await startWithPendingEntry();
    const entries = await createEvidence(store, { ...log, head: durable }).entriesAbout(id, 1);
    expect(entries.map(({ event_type }) => event_type)).toEqual(["change_proposed"]);
    expect(logIndex.tentative.length).toBe(durable.length + 1);
  });
});
