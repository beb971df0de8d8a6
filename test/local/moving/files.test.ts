/** The five commands on file stores and files, also under a service that uses them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { readHead } from "../../../lib/audit/chain.ts";
import type { Store } from "../../../lib/store/store.ts";
import { run } from "../../../local/command_line/run.ts";
import { openFile } from "../../../local/open_store.ts";
import { client, type Client } from "../../support/client.ts";
import { testClock } from "../../support/clock.ts";
import { opened } from "../../support/deps.ts";

let folder: string;
const at = (name: string): string => join(folder, name);
const live = (): string => at("live/state.json");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "moving-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

/** Calls the command line: what it said, and its exit code. */
async function call(...argv: string[]): Promise<{ code: number | void; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const never = (): Promise<never> => Promise.reject(new Error("a store asks no service and nobody"));
  const code = await run(argv, {
    env: { ELSEWHERE: at("elsewhere/state.json"), SVC_URL: "no address", SVC_ADMIN_TOKEN: "a", SVC_AGENT_TOKEN: "b" },
    columns: undefined,
    input: Readable.from([]),
    output: new Writable(),
    now: Date.now,
    fetch: never,
    confirm: never,
    run: never,
    save: never,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
  });
  return { code, out: out.join(""), err: err.join("") };
}

async function done(...argv: string[]): Promise<string> {
  const { code, out, err } = await call(...argv);
  expect([code, err]).toEqual([0, ""]);
  return out;
}

const refused = async (...argv: string[]): Promise<string> => {
  const { code, err } = await call(...argv);
  expect(code).toBe(1);
  return err;
};

interface Service {
  api: Client;
  store: Store;
}

/** A service on a file store, which owns it. */
async function serviceOn(path: string): Promise<Service> {
  const silent = { info: () => {}, warn: () => {}, error: () => {} };
  const store = await openFile(path, silent);
  onTestFinished(() => store.close());
  const clock = testClock(new Date().toISOString());
  const deps = await opened({ store, exclusive: true, clock, log: silent }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return { api: client(app(deps)), store };
}

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

test("a store moves from under the service that uses it: that one is fenced, and reads on", async () => {
  const { api, store } = await lived();
  const head = (await readHead(store))!;
  const said = await done("migrate", live(), "env:ELSEWHERE", "--actor", "ana");
  expect(said).toContain(`log ${head.origin}, ${head.length} entries, head ${head.head}`);

  const reply = await api.json("propose", { tenant_id: "t1", kind: "config", target: "a.b", summary: "late" });
  expect([reply.status, reply.body.code]).toEqual([503, "store_unavailable"]);
  expect(reply.body.error).toMatch(
    /the store cannot write: it moved at .* to another store, where its log goes on; .*can be read/,
  );
  expect(reply.text).not.toContain(folder);
  expect((await api.get("runtime")).body.audit).toMatchObject({ length: head.length, head: head.head });
  expect((await api.get("/readyz")).status).toBe(503);
  await store.close();
  await expect(serviceOn(live())).rejects.toThrow(/it is read-only for good/);

  const { api: next, store: there } = await serviceOn(at("elsewhere/state.json"));
  const [entry] = (await next.get(`audit?after=${head.length}`)).body.entries;
  expect(entry).toMatchObject({ event_type: "store_moved", id: head.length + 1, previous_hash: head.head });
  expect(JSON.parse(entry.detail)).toMatchObject({ from: live(), to: at("elsewhere/state.json"), actor: "ana" });
  await next.propose();
  expect((await readHead(there))!.length).toBe(head.length + 2);
});

test("writes that go on while a store moves are all there, or refused", async () => {
  const { api } = await lived();
  const taken: { id: number; current_hash: string }[] = [];
  let isOver = false;
  const callers = Array.from({ length: 6 }, async (_, caller) => {
    for (let count = 0; !isOver; count++) {
      const fields = { tenant_id: `t${caller}`, kind: "config", target: `a.${caller}.${count}`, summary: "meanwhile" };
      const { status, body } = await api.json("propose", fields);
      if (status === 201) taken.push(body.audit_entry);
      else expect([status, body.code]).toEqual([503, expect.stringMatching(/^store_(busy|unavailable)$/)]);
      // What is refused takes no turn of the event loop, which the move needs.
      await nextTurn();
      isOver ||= body.code === "store_unavailable";
    }
  });
  await done("migrate", live(), at("there/state.json"));
  await Promise.all(callers);
  const { store } = await serviceOn(at("there/state.json"));
  const { length } = (await readHead(store))!;
  const kept = await store.list("audit", { limit: length });
  const hashes = new Map(kept.map(({ value }) => [value.id, value.current_hash]));
  expect(taken.length).toBeGreaterThan(0);
  expect(taken.filter(({ id, current_hash }) => hashes.get(id) !== current_hash)).toEqual([]);
});

test("an export fences, and its file goes in elsewhere; a backup does not, and is restored", async () => {
  const { api, store } = await lived();
  const before = await readHead(store);
  expect(await done("backup", at("b.jsonl"), "--state", live())).toContain("goes on");
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

test("an export goes back into the store that it was made of, also where the file was lost and is made again", async () => {
  const { api, store } = await lived();
  const head = (await readHead(store))!;
  await done("export", at("e.jsonl"), "--state", live());
  expect(await refused("export", at("f.jsonl"), "--state", live())).toContain("it moved to the file");
  rmSync(at("e.jsonl"));
  await store.close();
  await done("export", at("e.jsonl"), "--state", live());
  await done("import", at("e.jsonl"), "--state", live());
  expect(api).toBeDefined();
  expect(await headIn(live())).toMatchObject({ length: head.length + 1, origin: head.origin });
});

/** Edits a file's lines, with the digest made anew where it should be. */
function edited(name: string, edit: (lines: string[]) => string[], { signed = false } = {}): string {
  let lines = edit(readFileSync(at("e.jsonl"), "utf8").trimEnd().split("\n"));
  if (signed) {
    const body = lines.slice(0, -1);
    const sha256 = createHash("sha256")
      .update(`${body.join("\n")}\n`)
      .digest("hex");
    lines = [...body, JSON.stringify({ ...JSON.parse(lines.at(-1)!), records: body.length - 1, sha256 })];
  }
  writeFileSync(at(name), `${lines.join("\n")}\n`);
  return at(name);
}

test("what is no whole file, of a later format or not what was written is refused, and leaves both as they were", async () => {
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
      edited("later", later, { signed: true }),
      /format countersign-export\/2, and this version reads countersign-export\/1/,
    ],
    [edited("other", () => ["hello"]), /no file that export or backup wrote/],
    [edited("changed", changed), /its SHA-256 is another one/],
    [edited("forged", changed, { signed: true }), /its log does not hold at entry \d+/],
    [edited("fewer", fewer, { signed: true }), /its log does not hold at entry 1/],
    [edited("more", (lines) => [...lines, lines[3]!]), /something follows its last line/],
  ];
  for (const [file, why] of cases) {
    const from = contentOf(folder);
    expect(await refused("import", file, "--state", at("to/state.json"))).toMatch(why);
    rmSync(at("to"), { recursive: true, force: true });
    expect(contentOf(folder)).toEqual(from);
  }
  await done("import", at("e.jsonl"), "--state", at("to/state.json"));
});

test("a store that is not empty takes nothing, and the one that should have moved goes on", async () => {
  const { api } = await lived();
  const other = await lived(at("other/state.json"));
  const head = await readHead(other.store);
  await other.store.close();
  const said = await refused("migrate", live(), at("other/state.json"));
  expect(said).toContain(`is not empty: it holds the log ${head!.origin} with ${head!.length} entries`);
  await api.propose();
  expect(await headIn(at("other/state.json"))).toEqual(head);
  expect(await refused("migrate", at("none/state.json"), at("to/state.json"))).toContain("there is no store at");
  expect(readdirSync(folder).sort()).toEqual(["live", "other"]);
});

test("what a broken move left is refused to a service, and cleared by the next", async () => {
  const { api, store } = await lived();
  const broken = await openFile(at("to/state.json"), console);
  const mark = { state: "loading", move: "another", from: "elsewhere", at: "2026-01-01T00:00:00.000Z" } as const;
  await broken.whole!.commit([], { from: undefined, to: mark });
  for await (const page of store.whole!.dump()) await broken.whole!.commit(page, { from: mark, to: mark });
  await broken.close();
  await expect(serviceOn(at("to/state.json"))).rejects.toThrow(/a move into it has not ended \(from elsewhere/);
  await api.propose();
  await done("migrate", live(), at("to/state.json"));
  expect(await headIn(at("to/state.json"))).toMatchObject({ length: (await readHead(store))!.length + 1 });
});

test("a hold ends with whoever held it", async () => {
  const { api, store } = await lived();
  const { storeAddress } = await import("../../../local/moving/store_addresses.ts");
  const source = await storeAddress(live(), {}).departed();
  const held = { state: "held", move: "m", until: new Date(Date.now() + 60_000).toISOString() } as const;
  await source.from.commit([], { from: undefined, to: held });
  await expect(store.transact((tx) => tx.put("review_due", "x", true))).rejects.toThrow("the store is being copied");
  await source.close();
  await expect.poll(() => store.whole!.mark()).toBeUndefined();
  await api.propose();
});
