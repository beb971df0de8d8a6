/** Tests when `state.json` is written, and its content. */
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { nodeFiles } from "../../../local/store/files.ts";
import type { Schedule } from "../../../local/store/state_file.ts";
import { withFaults, systemError } from "./faulty_files.ts";
import { openTestStore, readableLog, temporaryFolder } from "./open_test_store.ts";

let state: string;

beforeEach(async () => {
  state = join(await temporaryFolder(), "state.json");
});

const readState = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(state, "utf8")) as Record<string, unknown>;

/** Returns a timer that a test runs by hand. */
function manualTimer(): { schedule: Schedule; delaysMs: number[]; waiting(): number; run(): void } {
  let pending: (() => void)[] = [];
  const delaysMs: number[] = [];
  return {
    delaysMs,
    schedule(run, milliseconds) {
      delaysMs.push(milliseconds);
      pending.push(run);
      return () => (pending = pending.filter((scheduled) => scheduled !== run));
    },
    waiting: () => pending.length,
    run: () => pending.splice(0).forEach((scheduled) => scheduled()),
  };
}

const identity = {
  product_id: "acme-crm",
  instance_id: "acme-crm@local",
  node_id: "local",
  binding_mode: "one_product_one_svc",
};

test("state.json is written at the start, with empty collections", async () => {
  await openTestStore(state);
  expect(await readState()).toEqual({
    format: "countersign-state/1",
    store: "store-1",
    sequence: 0,
    product_runtime: { meta: {}, kpi: {}, counts: {}, leases: {} },
    co_evolution: { co_evolution: {}, peers: {} },
    tasks: { tally: {}, tasks_open: {} },
    checksum: expect.stringMatching(/^[0-9a-f]{8}$/),
  });
});

test("the product runtime's block has the identity's fields and records in memory, no others", async () => {
  const store = await openTestStore(state);
  await store.transact((tx) => {
    tx.put("meta", "identity", identity);
    tx.put("counts", "changes", { pending_consent: 2 });
    tx.put("leases", "__proto__", { owner: "a" });
    tx.put("leases", "settled", { owner: "b" });
    // Records of the next two collections are in the journal only.
    tx.put("changes", "chg_1", { status: "proposed" });
    tx.put("audit", "0000000000000001", { id: 1 });
  });
  await store.transact((tx) => tx.delete("leases", "settled"));
  await store.close();
  const { sequence, product_runtime } = await readState();
  expect(sequence).toBe(2);
  // In an object literal `__proto__` would set the prototype, so it is added to the text.
  expect(JSON.stringify(product_runtime)).toBe(
    JSON.stringify({ ...identity, meta: { identity }, kpi: {}, counts: { changes: { pending_consent: 2 } } }).replace(
      /}$/,
      ',"leases":{"__proto__":{"owner":"a"}}}',
    ),
  );
});

test("state.json is updated within a second of a change, once for many changes", async () => {
  const { schedule, delaysMs, run } = manualTimer();
  const store = await openTestStore(state, { schedule });
  expect(delaysMs).toEqual([]);
  for (let n = 0; n < 5; n++) await store.transact((tx) => tx.put("kpi", "latest", n));
  expect(delaysMs).toHaveLength(1);
  expect(delaysMs[0]).toBeLessThan(1000);
  expect(await readState()).toMatchObject({ sequence: 0 });
  run();
  await expect.poll(readState).toMatchObject({ sequence: 5, product_runtime: { kpi: { latest: 4 } } });
  await store.transact((tx) => tx.put("kpi", "latest", 5));
  expect(delaysMs).toHaveLength(2);
});

test("state.json is updated less often if it is large", async () => {
  const { schedule, delaysMs, run } = manualTimer();
  const store = await openTestStore(state, { schedule });
  await store.transact((tx) => tx.put("kpi", "one", "x".repeat(990_000)));
  await store.transact((tx) => tx.put("kpi", "other", "x".repeat(990_000)));
  run();
  await expect.poll(readState).toMatchObject({ sequence: 2 });
  await store.transact((tx) => tx.put("counts", "n", 1));
  expect(delaysMs[1]).toBeGreaterThan(5000);
  expect(delaysMs[1]).toBeLessThanOrEqual(60_000);
});

test("closing updates state.json and cancels the timer", async () => {
  const { schedule, waiting } = manualTimer();
  const store = await openTestStore(state, { schedule });
  await store.transact((tx) => tx.put("kpi", "latest", 1));
  expect(waiting()).toBe(1);
  await store.close();
  expect(waiting()).toBe(0);
  expect(await readState()).toMatchObject({ sequence: 1 });
});

test("a reader never sees a partial file, since a temporary file is written, synced and renamed", async () => {
  const calls: string[] = [];
  const names = new Map<number, string>();
  const nameOf = (path: unknown): string => String(path).slice(state.length - "state.json".length);
  const files = withFaults(nodeFiles, (call, [first, second]) => {
    if (call === "rename") calls.push(`rename ${nameOf(first)} ${nameOf(second)}`);
    else if (call === "write" || call === "sync") calls.push(`${call} ${names.get(first as number) ?? "journal"}`);
    else if (call === "syncFolder") calls.push("syncFolder");
    return undefined;
  });
  const open = files.open;
  const store = await openTestStore(state, {
    files: {
      ...files,
      async open(path, mode) {
        const fd = await open(path, mode);
        names.set(fd, nameOf(path));
        return fd;
      },
    },
  });
  calls.length = 0;
  await store.close();
  expect(calls).toEqual([
    "write state.json.tmp",
    "sync state.json.tmp",
    "rename state.json.tmp state.json",
    "syncFolder",
  ]);
});

test("a state.json that cannot be written is reported, and commits go on", async () => {
  let broken = false;
  const files = withFaults(nodeFiles, (call, [from]) =>
    broken && call === "rename" && String(from) === `${state}.tmp` ? systemError("EIO") : undefined,
  );
  const { schedule, delaysMs, run } = manualTimer();
  const log = readableLog();
  const store = await openTestStore(state, { files, schedule, log });
  await store.transact((tx) => tx.put("kpi", "latest", 1));
  broken = true;
  run();
  await expect.poll(() => log.lines.map(({ level }) => level)).toEqual(["warn"]);
  broken = false;
  await store.transact((tx) => tx.put("kpi", "latest", 2));
  expect(delaysMs).toHaveLength(2);
  await store.close();
  expect(await readState()).toMatchObject({ sequence: 2 });
});

test("the next start adds the commits of the journal that state.json does not have", async () => {
  const { schedule, run } = manualTimer();
  const store = await openTestStore(state, { schedule });
  await store.transact((tx) => tx.put("kpi", "latest", 1));
  run();
  await expect.poll(readState).toMatchObject({ sequence: 1 });
  const olderState = await readFile(state);
  await store.transact((tx) => {
    tx.put("kpi", "latest", 2);
    tx.put("leases", "chg_1", { owner: "a" });
  });
  await store.close();
  await writeFile(state, olderState);
  const again = await openTestStore(state);
  expect((await again.get("kpi", "latest"))?.value).toBe(2);
  expect(await readState()).toMatchObject({
    sequence: 2,
    product_runtime: { kpi: { latest: 2 }, leases: { chg_1: { owner: "a" } } },
  });
});

test("the block of tasks has the counts and the open tasks", async () => {
  const store = await openTestStore(state);
  const counts = { statuses: { queued: 1 }, open: { tasks_normal: 1 }, rated: 0, ratings: 0, rating_sum: 0 };
  await store.transact((tx) => {
    tx.put("tally", "tasks", counts);
    tx.put("tasks_open", "tasks_normal:tsk_1", "2026-01-02T00:00:00.000Z");
  });
  await store.close();
  expect((await readState())["tasks"]).toEqual({
    tally: { tasks: counts },
    tasks_open: { "tasks_normal:tsk_1": "2026-01-02T00:00:00.000Z" },
  });
});

test("the default timer keeps no process alive", async () => {
  const setTimeoutSpy = vi.spyOn(globalThis, "setTimeout");
  const store = await openTestStore(state, { schedule: undefined as never });
  await store.transact((tx) => tx.put("kpi", "latest", 1));
  const timerRefs = setTimeoutSpy.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
  setTimeoutSpy.mockRestore();
  expect(timerRefs).toEqual([false]);
});

test("only the service's user can read files and folder, also a journal that was public before", async () => {
  const folder = join(await temporaryFolder(), "data");
  const path = join(folder, "state.json");
  const modes = async (): Promise<string[]> => {
    const paths = [folder, ...(await readdir(folder)).sort().map((name) => join(folder, name))];
    return Promise.all(paths.map(async (each) => ((await stat(each)).mode & 0o777).toString(8)));
  };
  const first = await openTestStore(path);
  // The folder, state.json and the journal.
  await first.transact((tx) => tx.put("things", "a", 1));
  expect(await modes()).toEqual(["700", "600", "600"]);
  await first.close();
  await chmod(`${path}.journal.jsonl`, 0o644);
  await (await openTestStore(path)).close();
  expect(await modes()).toEqual(["700", "600", "600"]);
});
