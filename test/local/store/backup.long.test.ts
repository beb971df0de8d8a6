/** Tests the backup script of the operator's manual: taken during writes, it is complete and has all earlier commits. */
import { once } from "node:events";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { backupScript } from "../../support/backup_script.ts";
import { applyWrites, type Content, readContent, storedRecords, addWrites, workloadWrites } from "./model.ts";
import { type AnyFileStore, openTestStore, temporaryFolder } from "./open_test_store.ts";

const OTHER_COLLECTIONS = ["meta", "counts", "changes", "live"];

/** Commits the next transactions of the workload; returns the number of the last one. */
async function write(store: AnyFileStore, count: number): Promise<number> {
  const first = store.status().sequence + 1;
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.transact((tx) => addWrites(tx, workloadWrites(first + index)))),
  );
  return store.status().sequence;
}

/** Opens a copy and compares it with the model; returns the number of its last transaction. */
async function expectConsistentCopy(folder: string): Promise<number> {
  const store = await openTestStore(join(folder, "state.json"));
  const { sequence } = store.status();
  let content: Content = {};
  for (let n = 1; n <= sequence; n++)
    content = applyWrites(
      content,
      workloadWrites(n).filter(({ collection }) => collection !== "audit"),
    );
  expect(await readContent(store, OTHER_COLLECTIONS)).toEqual(storedRecords(content));
  const entries = await readContent(store, ["audit"]);
  expect(Object.keys(entries)).toHaveLength(sequence);
  expect(Object.values(entries).map(([, value]) => value)).toEqual(
    // The first write of each transaction is its audit entry.
    Array.from({ length: sequence }, (_, index) => JSON.stringify(workloadWrites(index + 1)[0]!.value)),
  );
  await store.close();
  return sequence;
}

test("a backup under load has all earlier acknowledged commits, and no partial one", async () => {
  const folder = await temporaryFolder();
  const backup = backupScript(folder);
  const state = join(folder, "data/state.json");
  const store = await openTestStore(state);
  let acknowledged = await write(store, 500);
  let ended = false;
  const load = (async () => {
    while (!ended) acknowledged = await write(store, 8);
  })();
  const backups: { to: string; before: number; after: number }[] = [];
  for (let round = 1; round <= 6; round++) {
    const to = join(folder, `backup-${round}`);
    const before = acknowledged;
    await backup(state, to);
    backups.push({ to, before, after: store.status().sequence });
  }
  ended = true;
  await load;
  for (const { to, before, after } of backups) {
    const sequence = await expectConsistentCopy(to);
    expect(sequence).toBeGreaterThanOrEqual(before);
    expect(sequence).toBeLessThanOrEqual(after);
  }
  expect(backups.at(-1)!.before).toBeGreaterThan(backups[0]!.before);
});

/** Creates a folder with a program that, at each call, waits for `beforeCall` and then runs the real program. */
async function makeDelayedProgram(
  folder: string,
  program: string,
  beforeCall: (call: number) => Promise<unknown>,
): Promise<string> {
  let calls = 0;
  const server = createServer((_, response) => void beforeCall(++calls).then(() => response.end()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const lines = ["#!/bin/bash", `exec 3<>/dev/tcp/127.0.0.1/${port}`, String.raw`printf 'GET / HTTP/1.0\r\n\r\n' >&3`];
  // The first folder of PATH is the one with this program.
  const real = `PATH=\${PATH#*:} exec ${program} "$@"`;
  writeFileSync(join(bin, program), [...lines, "read -r _ <&3", "exec 3>&-", real].join("\n"), { mode: 0o755 });
  return bin;
}

/** Compacts the records that a few transactions supersede, and begins no segment. */
async function compactSuperseded(store: AnyFileStore): Promise<void> {
  const { segments } = store.status();
  await write(store, 8);
  expect(store.status().segments).toBe(segments);
  await store.compact();
}

test.each<[string, (store: AnyFileStore) => Promise<unknown>]>([
  ["a segment is begun during a backup", (store) => write(store, 400)],
  ["a segment is compacted during a backup", compactSuperseded],
])("if %s, the backup is repeated", async (_, duringBackup) => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await openTestStore(state, { segmentBytes: 32 * 1024 });
  // Opens a fresh segment, after sealed ones with records that the next transactions supersede.
  while (store.status().segments < 4) await write(store, 8);
  const acknowledged = store.status().sequence;
  let callCount = 0;
  const bin = await makeDelayedProgram(folder, "head", async (call) => {
    callCount = call;
    if (call === 1) await duringBackup(store);
    else await write(store, 3);
  });
  const to = join(folder, "backup");
  await backupScript(folder)(state, to, [bin]);
  expect(callCount).toBeGreaterThan(1);
  const copiedFiles = readdirSync(to);
  expect(copiedFiles.filter((name) => !/^state\.json\.journal\.(?:\d{6}\.)?jsonl$/.test(name))).toEqual([]);
  expect(await expectConsistentCopy(to)).toBeGreaterThanOrEqual(acknowledged);
});

test("a backup has neither an incomplete last line nor the zeros after the last line", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await openTestStore(state);
  await write(store, 20);
  await store.close();
  const journal = `${state}.journal.jsonl`;
  const completeJournal = readFileSync(journal);
  const partialLine = completeJournal.subarray(
    completeJournal.lastIndexOf("\n", completeJournal.length - 2) + 1,
    completeJournal.length - 20,
  );
  appendFileSync(journal, partialLine);
  appendFileSync(journal, Buffer.alloc(1 << 16));
  const to = join(folder, "backup");
  await backupScript(folder)(state, to);
  expect(readFileSync(join(to, "state.json.journal.jsonl")).equals(completeJournal)).toBe(true);
  expect(await expectConsistentCopy(to)).toBe(20);
});

test("a backup of files that keep changing fails, and leaves no files", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await openTestStore(state, { segmentBytes: 8 * 1024 });
  await write(store, 60);
  const bin = await makeDelayedProgram(folder, "head", () => write(store, 60));
  const to = join(folder, "backup");
  await expect(backupScript(folder)(state, to, [bin])).rejects.toThrow(/files changed during each of ten tries/);
  expect(readdirSync(folder)).not.toContain("backup");
});

test("a backup has the reports next to the state, with their times", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await openTestStore(state);
  await write(store, 20);
  mkdirSync(join(folder, "data/evolved"));
  const report = join(folder, "data/evolved/report-2020-W01.md");
  writeFileSync(report, "# A report");
  utimesSync(report, 1_577_836_800, 1_577_836_800);
  const to = join(folder, "backup");
  await backupScript(folder)(state, to);
  const copy = join(to, "evolved/report-2020-W01.md");
  expect([readFileSync(copy, "utf8"), statSync(copy).mtimeMs]).toEqual(["# A report", 1_577_836_800_000]);
  expect(await expectConsistentCopy(to)).toBe(20);
});

test("a backup of a path without a state fails immediately, and leaves no files", async () => {
  const folder = await temporaryFolder();
  const attempt = backupScript(folder)(join(folder, "stat.json"), join(folder, "backup"));
  await expect(attempt).rejects.toMatchObject({
    code: 1,
    stderr: `countersign-backup: there is no ${join(folder, "stat.json")}.journal.jsonl\n`,
  });
  expect(readdirSync(folder)).not.toContain("backup");
});

test("a backup fails if a file cannot be copied, and leaves no files", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await openTestStore(state, { segmentBytes: 8 * 1024 });
  while (store.status().segments < 2) await write(store, 8);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "cp"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const to = join(folder, "backup");
  await expect(backupScript(folder)(state, to, [bin])).rejects.toMatchObject({ code: 1 });
  expect(readdirSync(folder)).not.toContain("backup");
});
