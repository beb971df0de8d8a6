/** Tests the commands that move and copy file stores, also while a service uses them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { type MoveState, MoveStateConflict } from "../../../lib/store/bulk_access.ts";
import { acquireLock, lockFolder } from "../../../local/lock.ts";
import { createOwnerCommands } from "../../../local/moving/owner_commands.ts";
import { storeAddress } from "../../../local/moving/store_addresses.ts";
import { openFile } from "../../../local/open_store.ts";
import { openFileStore } from "../../../local/store/file_store.ts";
import {
  runCommand,
  runFailingCommand,
  type Service,
  startService,
  expectEntriesStored,
  proposeUntilMoved,
} from "./commands.ts";
import { silentLog } from "../../support/silent_log.ts";

let folder: string;
const pathOf = (name: string): string => join(folder, name);
const sourcePath = (): string => pathOf("live/state.json");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "moving-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

/** A variable with an address, and settings for calls of the service, which these commands do not use. */
const environment = (): Record<string, string> => ({
  ELSEWHERE: pathOf("elsewhere/state.json"),
  SVC_URL: "no address",
  SVC_ADMIN_TOKEN: "a",
  SVC_AGENT_TOKEN: "b",
});
const run = (...argv: string[]): Promise<string> => runCommand(environment(), ...argv);
const runFailing = (...argv: string[]): Promise<string> => runFailingCommand(environment(), ...argv);

/** Starts a service that owns the file store at `path`. */
const openService = async (path: string): Promise<Service> => startService(await openFile(path, silentLog));

/** Starts a service and proposes three changes. */
async function startServiceWithChanges(path = sourcePath()): Promise<Service> {
  const service = await openService(path);
  for (let count = 0; count < 3; count++) await service.api.propose();
  return service;
}

const readHeadOf = async (path: string): Promise<unknown> => {
  const { store } = await openService(path);
  const head = await readHead(store);
  await store.close();
  return head;
};

/** Returns the content of each file in a folder, by path; without the zeros that a journal reserves at its end. */
const readFolder = (path: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((name) => [name, readFileSync(name, "latin1").replace(/\0+$/, "")]),
  );

test("a store moves while a service uses it; that service rejects writes and goes on reading", async () => {
  const { api, store } = await startServiceWithChanges();
  const head = (await readHead(store))!;
  const output = await run("migrate", sourcePath(), "env:ELSEWHERE", "--actor", "ana");
  expect(output).toContain(`log ${head.origin}, ${head.length} entries, head ${head.head}`);

  const reply = await api.json("propose", { tenant_id: "t1", kind: "config", target: "a.b", summary: "late" });
  expect([reply.status, reply.body.code]).toEqual([503, "store_moved"]);
  expect(reply.body.error).toMatch(/the store takes no writes: it moved to another store at .*, where its log goes on/);
  expect(reply.text).not.toContain(folder);
  expect((await api.get("runtime")).body.audit).toMatchObject({ length: head.length, head: head.head });
  expect((await api.get("/readyz")).status).toBe(503);
  await store.close();
  await expect(openService(sourcePath())).rejects.toThrow(/it moved to .*, where its log goes on/);

  const { api: next, store: destination } = await openService(pathOf("elsewhere/state.json"));
  const [entry] = (await next.get(`audit?after=${head.length}`)).body.entries;
  expect(entry).toMatchObject({ event_type: "store_moved", id: head.length + 1, previous_hash: head.head });
  expect(JSON.parse(entry.detail)).toMatchObject({
    from: sourcePath(),
    to: pathOf("elsewhere/state.json"),
    actor: "ana",
  });
  await next.propose();
  expect((await readHead(destination))!.length).toBe(head.length + 2);
});

test("writes during a move are either in the moved store or rejected", async () => {
  const { api } = await startServiceWithChanges();
  const writers = proposeUntilMoved([api]);
  await run("migrate", sourcePath(), pathOf("there/state.json"));
  const acknowledged = await writers;
  const { store } = await openService(pathOf("there/state.json"));
  await expectEntriesStored(store, acknowledged);
});

test("an export fences its store and can be imported elsewhere; a backup does not fence", async () => {
  const { api, store } = await startServiceWithChanges();
  const before = await readHead(store);
  expect(await run("backup", pathOf("b.jsonl"), "--state", sourcePath())).toContain("stays in use");
  await api.propose();
  const head = (await readHead(store))!;
  expect(await run("export", pathOf("e.jsonl"), "--state", sourcePath())).toContain(head.head);
  expect((await api.json("propose", { tenant_id: "t", kind: "config", target: "a.b", summary: "x" })).status).toBe(503);
  expect(statSync(pathOf("e.jsonl")).mode & 0o777).toBe(0o600);

  expect(await runFailing("import", pathOf("b.jsonl"), "--state", pathOf("two/state.json"))).toContain(
    "countersign restore",
  );
  expect(await runFailing("restore", pathOf("e.jsonl"), "--state", pathOf("two/state.json"))).toContain(
    "countersign import",
  );
  // An import and a restore append one entry each, `store_moved`.
  await run("import", pathOf("e.jsonl"), "--state", pathOf("two/state.json"));
  expect(await readHeadOf(pathOf("two/state.json"))).toMatchObject({ length: head.length + 1, origin: head.origin });
  await run("restore", pathOf("b.jsonl"), "--state", pathOf("three/state.json"));
  expect(await readHeadOf(pathOf("three/state.json"))).toMatchObject({
    length: before!.length + 1,
    origin: before!.origin,
  });
});

test("an export can be imported into its own store, and repeated if its file was lost", async () => {
  const { store } = await startServiceWithChanges();
  const head = (await readHead(store))!;
  await run("export", pathOf("e.jsonl"), "--state", sourcePath());
  expect(await runFailing("export", pathOf("f.jsonl"), "--state", sourcePath())).toContain("it moved to the file");
  rmSync(pathOf("e.jsonl"));
  await store.close();
  await run("export", pathOf("e.jsonl"), "--state", sourcePath());
  await run("import", pathOf("e.jsonl"), "--state", sourcePath());
  expect(await readHeadOf(sourcePath())).toMatchObject({ length: head.length + 1, origin: head.origin });
});

test("a restored backup does not remove the fence of a store that has moved", async () => {
  const { store } = await startServiceWithChanges();
  await store.close();
  await run("migrate", sourcePath(), pathOf("there/state.json"));
  await run("backup", pathOf("b.jsonl"), "--state", sourcePath());
  expect(await runFailing("restore", pathOf("b.jsonl"), "--state", sourcePath())).toContain("it moved to");
  await expect(openService(sourcePath())).rejects.toThrow(/it moved to .*, where its log goes on/);

  await run("export", pathOf("e.jsonl"), "--state", pathOf("there/state.json"));
  await run("backup", pathOf("c.jsonl"), "--state", pathOf("there/state.json"));
  expect(await runFailing("restore", pathOf("c.jsonl"), "--state", pathOf("there/state.json"))).toContain(
    "it moved to the file",
  );
  // A backup whose first line was edited to name the move.
  const [first, ...lines] = readFileSync(pathOf("c.jsonl"), "utf8").trimEnd().split("\n");
  const { move } = JSON.parse(readFileSync(pathOf("e.jsonl"), "utf8").split("\n", 1)[0]!);
  const named = [JSON.stringify({ ...JSON.parse(first!), move }), ...lines];
  writeFileSync(pathOf("d.jsonl"), joinWithDigest(named));
  expect(await runFailing("restore", pathOf("d.jsonl"), "--state", pathOf("there/state.json"))).toContain(
    "it moved to the file",
  );
  await expect(openService(pathOf("there/state.json"))).rejects.toThrow(/it moved to .*, where its log goes on/);
});

/** Joins the lines of a file, and computes its digest again. */
function joinWithDigest(lines: readonly string[]): string {
  const body = lines.slice(0, -1);
  const sha256 = createHash("sha256")
    .update(`${body.join("\n")}\n`)
    .digest("hex");
  return `${[...body, JSON.stringify({ ...JSON.parse(lines.at(-1)!), records: body.length - 1, sha256 })].join("\n")}\n`;
}

/** Writes an edited copy of the export `e.jsonl` and returns its path; with `updatesDigest` it has a valid digest. */
function editExport(name: string, edit: (lines: string[]) => string[], { updatesDigest = false } = {}): string {
  const lines = edit(readFileSync(pathOf("e.jsonl"), "utf8").trimEnd().split("\n"));
  writeFileSync(pathOf(name), updatesDigest ? joinWithDigest(lines) : `${lines.join("\n")}\n`);
  return pathOf(name);
}

test("the owner closes a silent connection, and sets the fence for a later command", async () => {
  const SILENCE_LIMIT_MS = 500;
  const door = createOwnerCommands(SILENCE_LIMIT_MS);
  const lock = await acquireLock(sourcePath(), undefined, door.accept);
  const store = await openFileStore({ path: lock.path, log: silentLog });
  door.open(store.bulk!);
  const { api } = await startService({ ...store, close: () => door.close().then(store.close).finally(lock.release) });
  await api.propose();
  const source = await storeAddress(sourcePath(), {}).openForMove();
  const lockedBy = await lockFolder(sourcePath());
  // The only file in the lock's folder is the owner's socket.
  const silent = connect(join(lockedBy, readdirSync(lockedBy)[0]!)).resume();
  await once(silent, "close");

  const moving = { state: "moving", move: "m", to: "b", at: "2026-01-01T00:00:00.000Z" } as const;
  await source.from.commit([], { from: undefined, to: moving });
  expect(await store.bulk!.moveState()).toEqual(moving);
  await expect(source.from.commit([], { from: undefined, to: { ...moving, move: "other" } })).rejects.toThrow(
    MoveStateConflict,
  );
  await door.close();
  await expect(source.from.commit([], { from: moving, to: undefined })).rejects.toThrow("does not answer");
  door.open(store.bulk!);
  await source.from.commit([], { from: moving, to: undefined });
  await source.close();
  await api.propose();
});

test("unfence cancels a failed move, so that its source takes writes; an ended one needs --force", async () => {
  const { api, store } = await startServiceWithChanges();
  const moving = { state: "moving", move: "m", to: pathOf("to/state.json"), at: "2026-01-01T00:00:00.000Z" } as const;
  await store.bulk!.commit([], { from: undefined, to: moving });
  const reply = await api.json("propose", { tenant_id: "t1", kind: "config", target: "a.b", summary: "late" });
  expect([reply.status, reply.body.code]).toEqual([503, "store_moved"]);
  expect(reply.body.error).toContain("countersign unfence");
  expect(await run("unfence", "--state", sourcePath())).toContain("takes writes again");
  expect(await runFailing("unfence", "--state", sourcePath())).toContain("is not fenced");
  await api.propose();

  await run("migrate", sourcePath(), pathOf("to/state.json"));
  expect(await runFailing("unfence", "--state", sourcePath())).toContain("two stores would go on with one log");
  expect((await api.json("propose", { tenant_id: "t", kind: "config", target: "a.c", summary: "x" })).status).toBe(503);
  await run("unfence", "--state", sourcePath(), "--force");
  await api.propose();
});

test("a move whose last step failed is completed by the same command", async () => {
  const { store } = await startServiceWithChanges();
  const { length } = (await readHead(store))!;
  await run("migrate", sourcePath(), pathOf("to/state.json"));
  const moved = (await store.bulk!.moveState())!;
  await store.bulk!.commit([], { from: moved, to: { ...moved, state: "moving" } as MoveState });
  expect(await run("migrate", sourcePath(), pathOf("to/state.json"))).toContain(`${length} entries`);
  expect((await store.bulk!.moveState())?.state).toBe("moved");
  expect(await readHeadOf(pathOf("to/state.json"))).toMatchObject({ length: length + 1 });
});

test("a store without a log is neither moved nor copied, and a file has only one store", async () => {
  await (await openFile(sourcePath(), silentLog)).close();
  for (const argv of [
    ["backup", pathOf("b.jsonl"), "--state", sourcePath()],
    ["export", pathOf("e.jsonl"), "--state", sourcePath()],
    ["migrate", sourcePath(), pathOf("to/state.json")],
  ])
    expect(await runFailing(...argv)).toContain(`${sourcePath()} has no log`);
  expect(readdirSync(folder)).toEqual(["live"]);
  const named = await runFailing("backup", pathOf("b.jsonl"), "--state", sourcePath(), "--store-name", "shop");
  expect(named).toContain("has no stores of several names");
});

test("an address that is empty, malformed or in a variable that is not set is rejected", () => {
  expect(() => storeAddress("", {})).toThrow("the address of a store is empty");
  expect(() => storeAddress("env:NOWHERE", {})).toThrow("env:NOWHERE: the variable NOWHERE is not set");
  expect(() => storeAddress("dynamodb://%zz?region=x", {})).toThrow("the address of a table reads dynamodb://table");
});

test("an incomplete, edited or newer file is rejected before anything is touched", async () => {
  const { store } = await startServiceWithChanges();
  await run("export", pathOf("e.jsonl"), "--state", sourcePath());
  await store.close();
  const withNewerFormat = (lines: string[]) => [
    lines[0]!.replace("countersign-export/1", "countersign-export/2"),
    ...lines.slice(1),
  ];
  const isAudit = (line: string): boolean => line.startsWith('["audit"');
  const withChangedEntry = (lines: string[]) =>
    lines.map((line) => (isAudit(line) ? line.replace("config", "confiG") : line));
  // Keeps only entries whose previous line is an entry too.
  const withoutFirstEntry = (lines: string[]) =>
    lines.filter((line, index) => !isAudit(line) || isAudit(lines[index - 1]!));
  const cases: [file: string, message: RegExp][] = [
    [editExport("cut", (lines) => lines.slice(0, -1)), /it was cut/],
    [editExport("half", (lines) => [...lines.slice(0, 5), lines[5]!.slice(0, 9)]), /line 6 is not JSON/],
    [
      editExport("later", withNewerFormat, { updatesDigest: true }),
      /format countersign-export\/2, and this version reads countersign-export\/1/,
    ],
    [editExport("other", () => ["hello"]), /no file that export or backup wrote/],
    [editExport("changed", withChangedEntry), /its SHA-256 is another one/],
    [editExport("forged", withChangedEntry, { updatesDigest: true }), /its log does not hold at entry \d+/],
    [editExport("fewer", withoutFirstEntry, { updatesDigest: true }), /its log does not hold at entry 1/],
    [editExport("more", (lines) => [...lines, lines[3]!]), /something follows its last line/],
  ];
  for (const [file, message] of cases) {
    const before = [readFolder(folder), readdirSync(folder)];
    expect(await runFailing("import", file, "--state", pathOf("to/state.json"))).toMatch(message);
    expect([readFolder(folder), readdirSync(folder)]).toEqual(before);
  }
  await run("import", pathOf("e.jsonl"), "--state", pathOf("to/state.json"));
});

test("a move to a store that is not empty is rejected, and the source goes on", async () => {
  const { api } = await startServiceWithChanges();
  const other = await startServiceWithChanges(pathOf("other/state.json"));
  const head = await readHead(other.store);
  await other.store.close();
  const output = await runFailing("migrate", sourcePath(), pathOf("other/state.json"));
  expect(output).toContain(`is not empty: it has the log ${head!.origin} with ${head!.length} entries`);
  await api.propose();
  expect(await readHeadOf(pathOf("other/state.json"))).toEqual(head);
  expect(await runFailing("migrate", pathOf("none/state.json"), pathOf("to/state.json"))).toContain(
    "there is no store at",
  );
  expect(readdirSync(folder).sort()).toEqual(["live", "other"]);
});

test("an incomplete destination cannot be opened by a service, and the next move clears it", async () => {
  const { api, store } = await startServiceWithChanges();
  const incomplete = await openFile(pathOf("to/state.json"), console);
  const moveState = { state: "loading", move: "another", from: sourcePath(), at: "2026-01-01T00:00:00.000Z" } as const;
  await incomplete.bulk!.commit([], { from: undefined, to: moveState });
  for await (const page of store.bulk!.dump()) await incomplete.bulk!.commit(page, { from: moveState, to: moveState });
  await incomplete.close();
  await expect(openService(pathOf("to/state.json"))).rejects.toThrow(/a move into it has not ended \(from .*live/);
  await api.propose();
  await run("migrate", sourcePath(), pathOf("to/state.json"));
  expect(await readHeadOf(pathOf("to/state.json"))).toMatchObject({ length: (await readHead(store))!.length + 1 });
});

test("an incomplete destination is replaced only by the command that began it, or with --force", async () => {
  const { store } = await startServiceWithChanges();
  await run("backup", pathOf("b.jsonl"), "--state", sourcePath());
  const to = pathOf("to/state.json");
  const incomplete = await openFile(to, silentLog);
  const moveState = { state: "loading", move: "another", from: "elsewhere", at: "2026-01-01T00:00:00.000Z" } as const;
  await incomplete.bulk!.commit([], { from: undefined, to: moveState });
  await incomplete.close();
  for (const argv of [
    ["restore", pathOf("b.jsonl"), "--state", to],
    ["migrate", sourcePath(), to],
  ])
    expect(await runFailing(...argv)).toContain(
      `${to} takes nothing: a move into it, from elsewhere, has not ended. Give that command again, or add --force`,
    );
  const reopened = await openFile(to, silentLog);
  expect(await reopened.bulk!.moveState()).toEqual(moveState);
  await reopened.close();
  await run("restore", pathOf("b.jsonl"), "--state", to, "--force");
  expect(await readHeadOf(to)).toMatchObject({ length: (await readHead(store))!.length + 1 });
});

test("a missing or wrong file is rejected before the destination is touched", async () => {
  const { store } = await startServiceWithChanges();
  await run("backup", pathOf("b.jsonl"), "--state", sourcePath());
  expect(await runFailing("import", pathOf("no.jsonl"), "--state", pathOf("to/state.json"))).toMatch(
    /ENOENT.*no\.jsonl/,
  );
  expect(await runFailing("import", pathOf("b.jsonl"), "--state", pathOf("to/state.json"))).toContain("is a backup");
  await store.close();
  await run("migrate", sourcePath(), pathOf("there/state.json"));
  expect(await runFailing("migrate", sourcePath(), pathOf("to/state.json"))).toContain("it moved to");
  expect(readdirSync(folder).sort()).toEqual(["b.jsonl", "live", "there"]);

  // Even with --force the destination stays if the file is no longer a backup.
  const incomplete = await openFile(pathOf("half/state.json"), silentLog);
  const moveState = { state: "loading", move: "m", from: pathOf("b.jsonl"), at: "2026-01-01T00:00:00.000Z" } as const;
  await incomplete.bulk!.commit([], { from: undefined, to: moveState });
  await incomplete.close();
  writeFileSync(pathOf("b.jsonl"), "hello\n");
  expect(await runFailing("restore", pathOf("b.jsonl"), "--state", pathOf("half/state.json"), "--force")).toContain(
    "no file that",
  );
  const reopened = await openFile(pathOf("half/state.json"), silentLog);
  expect(await reopened.bulk!.moveState()).toEqual(moveState);
  await reopened.close();
});
