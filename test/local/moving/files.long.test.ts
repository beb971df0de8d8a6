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
import { newDoor } from "../../../local/moving/owner_door.ts";
import { storeAddress } from "../../../local/moving/store_addresses.ts";
import { openFile } from "../../../local/open_store.ts";
import { openFileStore } from "../../../local/store/file_store.ts";
import { runMover, runRejected, type Service, startService, expectKept, writing } from "./movers.ts";
import { silentLog } from "../../support/silent_log.ts";

let folder: string;
const at = (name: string): string => join(folder, name);
const live = (): string => at("live/state.json");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "moving-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const environment = (): Record<string, string> => ({
  ELSEWHERE: at("elsewhere/state.json"),
  SVC_URL: "no address",
  SVC_ADMIN_TOKEN: "a",
  SVC_AGENT_TOKEN: "b",
});
const done = (...argv: string[]): Promise<string> => runMover(environment(), ...argv);
const refused = (...argv: string[]): Promise<string> => runRejected(environment(), ...argv);

/** Opens a service on a file store, which it then owns. */
const serviceOn = async (path: string): Promise<Service> => startService(await openFile(path, silentLog));

/** A service with a few changes. */
async function lived(path = live()): Promise<Service> {
  const service = await serviceOn(path);
  for (let count = 0; count < 3; count++) await service.api.propose();
  return service;
}

const headIn = async (path: string): Promise<unknown> => {
  const { store } = await serviceOn(path);
  const head = await readHead(store);
  await store.close();
  return head;
};

/** Every file of a folder with its content. */
const contentOf = (path: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((name) => [name, readFileSync(name, "latin1").replace(/\0+$/, "")]),
  );

test("a store moves while a service uses it; that service rejects writes and goes on reading", async () => {
  const { api, store } = await lived();
  const head = (await readHead(store))!;
  const said = await done("migrate", live(), "env:ELSEWHERE", "--actor", "ana");
  expect(said).toContain(`log ${head.origin}, ${head.length} entries, head ${head.head}`);

  const reply = await api.json("propose", { tenant_id: "t1", kind: "config", target: "a.b", summary: "late" });
  expect([reply.status, reply.body.code]).toEqual([503, "store_moved"]);
  expect(reply.body.error).toMatch(/the store takes no writes: it moved to another store at .*, where its log goes on/);
  expect(reply.text).not.toContain(folder);
  expect((await api.get("runtime")).body.audit).toMatchObject({ length: head.length, head: head.head });
  expect((await api.get("/readyz")).status).toBe(503);
  await store.close();
  await expect(serviceOn(live())).rejects.toThrow(/it moved to .*, where its log goes on/);

  const { api: next, store: there } = await serviceOn(at("elsewhere/state.json"));
  const [entry] = (await next.get(`audit?after=${head.length}`)).body.entries;
  expect(entry).toMatchObject({ event_type: "store_moved", id: head.length + 1, previous_hash: head.head });
  expect(JSON.parse(entry.detail)).toMatchObject({ from: live(), to: at("elsewhere/state.json"), actor: "ana" });
  await next.propose();
  expect((await readHead(there))!.length).toBe(head.length + 2);
});

test("writes during a move are either in the moved store or rejected", async () => {
  const { api } = await lived();
  const writers = writing([api]);
  await done("migrate", live(), at("there/state.json"));
  const taken = await writers;
  const { store } = await serviceOn(at("there/state.json"));
  await expectKept(store, taken);
});

test("an export fences its store and can be imported elsewhere; a backup does not fence", async () => {
  const { api, store } = await lived();
  const before = await readHead(store);
  expect(await done("backup", at("b.jsonl"), "--state", live())).toContain("stays in use");
  await api.propose();
  const head = (await readHead(store))!;
  expect(await done("export", at("e.jsonl"), "--state", live())).toContain(head.head);
  expect((await api.json("propose", { tenant_id: "t", kind: "config", target: "a.b", summary: "x" })).status).toBe(503);
  expect(statSync(at("e.jsonl")).mode & 0o777).toBe(0o600);

  expect(await refused("import", at("b.jsonl"), "--state", at("two/state.json"))).toContain("countersign restore");
  expect(await refused("restore", at("e.jsonl"), "--state", at("two/state.json"))).toContain("countersign import");
  await done("import", at("e.jsonl"), "--state", at("two/state.json"));
  expect(await headIn(at("two/state.json"))).toMatchObject({ length: head.length + 1, origin: head.origin });
  await done("restore", at("b.jsonl"), "--state", at("three/state.json"));
  expect(await headIn(at("three/state.json"))).toMatchObject({ length: before!.length + 1, origin: before!.origin });
});

test("an export can be imported into its own store, also after the store's file was lost", async () => {
  const { store } = await lived();
  const head = (await readHead(store))!;
  await done("export", at("e.jsonl"), "--state", live());
  expect(await refused("export", at("f.jsonl"), "--state", live())).toContain("it moved to the file");
  rmSync(at("e.jsonl"));
  await store.close();
  await done("export", at("e.jsonl"), "--state", live());
  await done("import", at("e.jsonl"), "--state", live());
  expect(await headIn(live())).toMatchObject({ length: head.length + 1, origin: head.origin });
});

test("a restored backup does not remove the fence of a store that has moved", async () => {
  const { store } = await lived();
  await store.close();
  await done("migrate", live(), at("there/state.json"));
  await done("backup", at("b.jsonl"), "--state", live());
  expect(await refused("restore", at("b.jsonl"), "--state", live())).toContain("it moved to");
  await expect(serviceOn(live())).rejects.toThrow(/it moved to .*, where its log goes on/);

  await done("export", at("e.jsonl"), "--state", at("there/state.json"));
  await done("backup", at("c.jsonl"), "--state", at("there/state.json"));
  expect(await refused("restore", at("c.jsonl"), "--state", at("there/state.json"))).toContain("it moved to the file");
  // A backup whose first line was edited to name the move.
  const [first, ...lines] = readFileSync(at("c.jsonl"), "utf8").trimEnd().split("\n");
  const { move } = JSON.parse(readFileSync(at("e.jsonl"), "utf8").split("\n", 1)[0]!);
  const named = [JSON.stringify({ ...JSON.parse(first!), move }), ...lines];
  writeFileSync(at("d.jsonl"), signed(named));
  expect(await refused("restore", at("d.jsonl"), "--state", at("there/state.json"))).toContain("it moved to the file");
  await expect(serviceOn(at("there/state.json"))).rejects.toThrow(/it moved to .*, where its log goes on/);
});

/** Joins lines to a file and computes its digest again. */
function signed(lines: readonly string[]): string {
  const body = lines.slice(0, -1);
  const sha256 = createHash("sha256")
    .update(`${body.join("\n")}\n`)
    .digest("hex");
  return `${[...body, JSON.stringify({ ...JSON.parse(lines.at(-1)!), records: body.length - 1, sha256 })].join("\n")}\n`;
}

/** Edits a file's lines; with `signs` its digest is computed again. */
function edited(name: string, edit: (lines: string[]) => string[], { signs = false } = {}): string {
  const lines = edit(readFileSync(at("e.jsonl"), "utf8").trimEnd().split("\n"));
  writeFileSync(at(name), signs ? signed(lines) : `${lines.join("\n")}\n`);
  return at(name);
}

test("the owner closes a silent connection, and sets the fence for a later command", async () => {
  const door = newDoor(500);
  const lock = await acquireLock(live(), undefined, door.enter);
  const store = await openFileStore({ path: lock.path, log: silentLog });
  door.open(store.bulk!);
  const { api } = await startService({ ...store, close: () => door.close().then(store.close).finally(lock.release) });
  await api.propose();
  const source = await storeAddress(live(), {}).departed();
  const lockedBy = await lockFolder(live());
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

test("a failed move can be cancelled, so that its source accepts writes; an ended one cannot", async () => {
  const { api, store } = await lived();
  const moving = { state: "moving", move: "m", to: at("to/state.json"), at: "2026-01-01T00:00:00.000Z" } as const;
  await store.bulk!.commit([], { from: undefined, to: moving });
  const reply = await api.json("propose", { tenant_id: "t1", kind: "config", target: "a.b", summary: "late" });
  expect([reply.status, reply.body.code]).toEqual([503, "store_moved"]);
  expect(reply.body.error).toContain("countersign unfence");
  expect(await done("unfence", "--state", live())).toContain("takes writes again");
  expect(await refused("unfence", "--state", live())).toContain("is not fenced");
  await api.propose();

  await done("migrate", live(), at("to/state.json"));
  expect(await refused("unfence", "--state", live())).toContain("two stores would go on with one log");
  expect((await api.json("propose", { tenant_id: "t", kind: "config", target: "a.c", summary: "x" })).status).toBe(503);
  await done("unfence", "--state", live(), "--force");
  await api.propose();
});

test("a move whose last step failed is completed by the same command", async () => {
  const { store } = await lived();
  const { length } = (await readHead(store))!;
  await done("migrate", live(), at("to/state.json"));
  const moved = (await store.bulk!.moveState())!;
  await store.bulk!.commit([], { from: moved, to: { ...moved, state: "moving" } as MoveState });
  expect(await done("migrate", live(), at("to/state.json"))).toContain(`${length} entries`);
  expect((await store.bulk!.moveState())?.state).toBe("moved");
  expect(await headIn(at("to/state.json"))).toMatchObject({ length: length + 1 });
});

test("a store without a log is neither moved nor copied, and a file has only one store", async () => {
  await (await openFile(live(), silentLog)).close();
  for (const given of [
    ["backup", at("b.jsonl"), "--state", live()],
    ["export", at("e.jsonl"), "--state", live()],
    ["migrate", live(), at("to/state.json")],
  ])
    expect(await refused(...given)).toContain(`${live()} has no log`);
  expect(readdirSync(folder)).toEqual(["live"]);
  const named = await refused("backup", at("b.jsonl"), "--state", live(), "--store-name", "shop");
  expect(named).toContain("has no stores of several names");
});

test("an incomplete, edited or newer file is rejected before anything is touched", async () => {
  const { store } = await lived();
  await done("export", at("e.jsonl"), "--state", live());
  await store.close();
  const later = (lines: string[]) => [
    lines[0]!.replace("countersign-export/1", "countersign-export/2"),
    ...lines.slice(1),
  ];
  const isAudit = (line: string): boolean => line.startsWith('["audit"');
  const changed = (lines: string[]) => lines.map((line) => (isAudit(line) ? line.replace("config", "confiG") : line));
  const fewer = (lines: string[]) => lines.filter((line, index) => !isAudit(line) || isAudit(lines[index - 1]!));
  const cases: [file: string, why: RegExp][] = [
    [edited("cut", (lines) => lines.slice(0, -1)), /it was cut/],
    [edited("half", (lines) => [...lines.slice(0, 5), lines[5]!.slice(0, 9)]), /line 6 is not JSON/],
    [
      edited("later", later, { signs: true }),
      /format countersign-export\/2, and this version reads countersign-export\/1/,
    ],
    [edited("other", () => ["hello"]), /no file that export or backup wrote/],
    [edited("changed", changed), /its SHA-256 is another one/],
    [edited("forged", changed, { signs: true }), /its log does not hold at entry \d+/],
    [edited("fewer", fewer, { signs: true }), /its log does not hold at entry 1/],
    [edited("more", (lines) => [...lines, lines[3]!]), /something follows its last line/],
  ];
  for (const [file, why] of cases) {
    const [from, there] = [contentOf(folder), readdirSync(folder)];
    expect(await refused("import", file, "--state", at("to/state.json"))).toMatch(why);
    expect([contentOf(folder), readdirSync(folder)]).toEqual([from, there]);
  }
  await done("import", at("e.jsonl"), "--state", at("to/state.json"));
});

test("a move to a store that is not empty is rejected, and the source goes on", async () => {
  const { api } = await lived();
  const other = await lived(at("other/state.json"));
  const head = await readHead(other.store);
  await other.store.close();
  const said = await refused("migrate", live(), at("other/state.json"));
  expect(said).toContain(`is not empty: it has the log ${head!.origin} with ${head!.length} entries`);
  await api.propose();
  expect(await headIn(at("other/state.json"))).toEqual(head);
  expect(await refused("migrate", at("none/state.json"), at("to/state.json"))).toContain("there is no store at");
  expect(readdirSync(folder).sort()).toEqual(["live", "other"]);
});

test("an incomplete destination cannot be opened by a service, and the next move clears it", async () => {
  const { api, store } = await lived();
  const broken = await openFile(at("to/state.json"), console);
  const mark = { state: "loading", move: "another", from: live(), at: "2026-01-01T00:00:00.000Z" } as const;
  await broken.bulk!.commit([], { from: undefined, to: mark });
  for await (const page of store.bulk!.dump()) await broken.bulk!.commit(page, { from: mark, to: mark });
  await broken.close();
  await expect(serviceOn(at("to/state.json"))).rejects.toThrow(/a move into it has not ended \(from .*live/);
  await api.propose();
  await done("migrate", live(), at("to/state.json"));
  expect(await headIn(at("to/state.json"))).toMatchObject({ length: (await readHead(store))!.length + 1 });
});

test("an incomplete destination of another command is removed only by that, or with --force", async () => {
  const { store } = await lived();
  await done("backup", at("b.jsonl"), "--state", live());
  const to = at("to/state.json");
  const broken = await openFile(to, silentLog);
  const mark = { state: "loading", move: "another", from: "elsewhere", at: "2026-01-01T00:00:00.000Z" } as const;
  await broken.bulk!.commit([], { from: undefined, to: mark });
  await broken.close();
  for (const given of [
    ["restore", at("b.jsonl"), "--state", to],
    ["migrate", live(), to],
  ])
    expect(await refused(...given)).toContain(
      `${to} takes nothing: a move into it, from elsewhere, has not ended. Give that command again, or add --force`,
    );
  const again = await openFile(to, silentLog);
  expect(await again.bulk!.moveState()).toEqual(mark);
  await again.close();
  await done("restore", at("b.jsonl"), "--state", to, "--force");
  expect(await headIn(to)).toMatchObject({ length: (await readHead(store))!.length + 1 });
});

test("a missing or wrong file is rejected before the destination is touched", async () => {
  const { store } = await lived();
  await done("backup", at("b.jsonl"), "--state", live());
  expect(await refused("import", at("no.jsonl"), "--state", at("to/state.json"))).toMatch(/ENOENT.*no\.jsonl/);
  expect(await refused("import", at("b.jsonl"), "--state", at("to/state.json"))).toContain("is a backup");
  await store.close();
  await done("migrate", live(), at("there/state.json"));
  expect(await refused("migrate", live(), at("to/state.json"))).toContain("it moved to");
  expect(readdirSync(folder).sort()).toEqual(["b.jsonl", "live", "there"]);

  // The copy stays in its place after the file of this name is no backup any more.
  const half = await openFile(at("half/state.json"), silentLog);
  const mark = { state: "loading", move: "m", from: at("b.jsonl"), at: "2026-01-01T00:00:00.000Z" } as const;
  await half.bulk!.commit([], { from: undefined, to: mark });
  await half.close();
  writeFileSync(at("b.jsonl"), "hello\n");
  expect(await refused("restore", at("b.jsonl"), "--state", at("half/state.json"), "--force")).toContain(
    "no file that",
  );
  const again = await openFile(at("half/state.json"), silentLog);
  expect(await again.bulk!.moveState()).toEqual(mark);
  await again.close();
});
