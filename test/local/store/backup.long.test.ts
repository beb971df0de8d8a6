/** Tests the backup script of the operator's manual: taken during writes, it is complete and has all earlier commits. */
import { once } from "node:events";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { backupScript } from "../../support/backup_script.ts";
import { after, type Content, readContent, live, perform, workload } from "./model.ts";
import { type AnyFileStore, opened, temporaryFolder } from "./opened.ts";

const OTHERS = ["meta", "counts", "changes", "live"];

/** Writes the transactions behind the last one; gives the number of the newest that was acknowledged. */
async function write(store: AnyFileStore, count: number): Promise<number> {
  const first = store.status().sequence + 1;
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.transact((tx) => perform(tx, workload(first + index)))),
  );
  return store.status().sequence;
}

/** Opens a copy, and holds it to the model: gives the number of its last transaction. */
async function compare(folder: string): Promise<number> {
  const store = await opened(join(folder, "state.json"));
  const { sequence } = store.status();
  let content: Content = {};
  for (let n = 1; n <= sequence; n++)
    content = after(
      content,
      workload(n).filter(({ collection }) => collection !== "audit"),
    );
  expect(await readContent(store, OTHERS)).toEqual(live(content));
  const entries = await readContent(store, ["audit"]);
  expect(Object.keys(entries)).toHaveLength(sequence);
  expect(Object.values(entries).map(([, value]) => value)).toEqual(
    Array.from({ length: sequence }, (_, index) => JSON.stringify(workload(index + 1)[0]!.value)),
  );
  await store.close();
  return sequence;
}

test("a backup under load has all earlier acknowledged commits, and no partial one", async () => {
  const folder = await temporaryFolder();
  const backup = backupScript(folder);
  const state = join(folder, "data/state.json");
  const store = await opened(state);
  let acknowledged = await write(store, 500);
  let ended = false;
  const load = (async () => {
    while (!ended) acknowledged = await write(store, 8);
  })();
  const taken: { to: string; before: number; behind: number }[] = [];
  for (let round = 1; round <= 6; round++) {
    const to = join(folder, `backup-${round}`);
    const before = acknowledged;
    await backup(state, to);
    taken.push({ to, before, behind: store.status().sequence });
  }
  ended = true;
  await load;
  for (const { to, before, behind } of taken) {
    const sequence = await compare(to);
    expect(sequence).toBeGreaterThanOrEqual(before);
    expect(sequence).toBeLessThanOrEqual(behind);
  }
  expect(taken.at(-1)!.before).toBeGreaterThan(taken[0]!.before);
});

/** A folder with a program that asks this test first, each time that it is called, and then does what it always does. */
async function asking(folder: string, program: string, answer: (call: number) => Promise<unknown>): Promise<string> {
  let calls = 0;
  const server = createServer((_, response) => void answer(++calls).then(() => response.end()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const lines = ["#!/bin/bash", `exec 3<>/dev/tcp/127.0.0.1/${port}`, String.raw`printf 'GET / HTTP/1.0\r\n\r\n' >&3`];
  const real = `PATH=\${PATH#*:} exec ${program} "$@"`;
  writeFileSync(join(bin, program), [...lines, "read -r _ <&3", "exec 3>&-", real].join("\n"), { mode: 0o755 });
  return bin;
}

/** Compacts what a few transactions supersede, and begins no part. */
async function rewrite(store: AnyFileStore): Promise<void> {
  const { segments } = store.status();
  await write(store, 8);
  expect(store.status().segments).toBe(segments);
  await store.compact();
}

test.each<[string, (store: AnyFileStore) => Promise<unknown>]>([
  ["a part that is begun meanwhile", (store) => write(store, 400)],
  ["a part that is rewritten meanwhile", rewrite],
])("%s: it is taken once more", async (_, meanwhile) => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await opened(state, { segmentBytes: 32 * 1024 });
  // A part was just sealed: of the nine changes that go round, one still lies in it.
  while (store.status().segments < 4) await write(store, 8);
  const acknowledged = store.status().sequence;
  let called = 0;
  const bin = await asking(folder, "head", async (call) => {
    called = call;
    if (call === 1) await meanwhile(store);
    else await write(store, 3);
  });
  const to = join(folder, "backup");
  await backupScript(folder)(state, to, [bin]);
  expect(called).toBeGreaterThan(1);
  const copied = readdirSync(to);
  expect(copied.filter((name) => !/^state\.json\.journal\.(?:\d{6}\.)?jsonl$/.test(name))).toEqual([]);
  expect(await compare(to)).toBeGreaterThanOrEqual(acknowledged);
});

test("a backup has neither an incomplete last line nor the zeros after the last line", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await opened(state);
  await write(store, 20);
  await store.close();
  const journal = `${state}.journal.jsonl`;
  const whole = readFileSync(journal);
  const half = whole.subarray(whole.lastIndexOf("\n", whole.length - 2) + 1, whole.length - 20);
  appendFileSync(journal, half);
  appendFileSync(journal, Buffer.alloc(1 << 16));
  const to = join(folder, "backup");
  await backupScript(folder)(state, to);
  expect(readFileSync(join(to, "state.json.journal.jsonl")).equals(whole)).toBe(true);
  expect(await compare(to)).toBe(20);
});

test("a backup of files that keep changing fails, and leaves no files", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await opened(state, { segmentBytes: 8 * 1024 });
  await write(store, 60);
  const bin = await asking(folder, "head", () => write(store, 60));
  const to = join(folder, "backup");
  await expect(backupScript(folder)(state, to, [bin])).rejects.toThrow(/files changed during each of ten tries/);
  expect(readdirSync(folder)).not.toContain("backup");
});

test("a backup has the reports next to the state, with their times", async () => {
  const folder = await temporaryFolder();
  const state = join(folder, "data/state.json");
  const store = await opened(state);
  await write(store, 20);
  mkdirSync(join(folder, "data/evolved"));
  const report = join(folder, "data/evolved/report-2020-W01.md");
  writeFileSync(report, "# A report");
  utimesSync(report, 1_577_836_800, 1_577_836_800);
  const to = join(folder, "backup");
  await backupScript(folder)(state, to);
  const copy = join(to, "evolved/report-2020-W01.md");
  expect([readFileSync(copy, "utf8"), statSync(copy).mtimeMs]).toEqual(["# A report", 1_577_836_800_000]);
  expect(await compare(to)).toBe(20);
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
  const store = await opened(state, { segmentBytes: 8 * 1024 });
  while (store.status().segments < 2) await write(store, 8);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "cp"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const to = join(folder, "backup");
  await expect(backupScript(folder)(state, to, [bin])).rejects.toMatchObject({ code: 1 });
  expect(readdirSync(folder)).not.toContain("backup");
});
