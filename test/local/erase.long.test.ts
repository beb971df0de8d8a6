/** Verifies that no file of the local program has words of an erased content. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { countersign } from "../../handlers/index.ts";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { Service } from "../../lib/service.ts";
import { evolvedFiles } from "../../local/evolved_files.ts";
import { fileAdapter } from "../../local/targets/file.ts";
import { sha256 } from "../../local/node_ports.ts";
import { openFileStore } from "../../local/store/file_store.ts";
import { type Client, client, type Reply } from "../support/client.ts";
import { HOUR, SECOND, type TestClock, testClock } from "../support/clock.ts";
import { manifest } from "../support/intents.ts";
import { silentLog } from "../support/silent_log.ts";

/** Words in a summary, a rationale, and a key and a text within a value; the test searches all files for them. */
const WORDS = ["Wombat-summary-1", "Wombat-rationale-2", "wombat_name_3", "Wombat-value-4"] as const;
const [SUMMARY, RATIONALE, NAME, VALUE] = WORDS;
const SECRET = {
  summary: SUMMARY,
  rationale: RATIONALE,
  value: JSON.stringify({ [NAME]: [VALUE] }),
  affected_users: 77,
};

let folder: string;
let clock: TestClock;
let running: Service;
let api: Client;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "erase-"));
  clock = testClock();
  await start();
});
afterEach(async () => {
  await running.close();
  rmSync(folder, { recursive: true });
});

async function start(): Promise<void> {
  const log = silentLog;
  const store = await openFileStore({ path: join(folder, "data/state.json"), log, now: clock.now });
  const path = join(folder, "product_config.json");
  const identity = { product_id: "acme-crm", instance_id: "acme-crm@local" };
  const adapter = fileAdapter({ path, store, ...identity, clock });
  const evolved = evolvedFiles(join(folder, "evolved"));
  running = await countersign({ store, clock, log, intent: manifest({}), adapter, evolved });
  api = client(running.fetch);
  await running.cycle();
}

/** Returns the files below the folder that have one of the words. */
const findFilesWith = (words: readonly string[] = WORDS): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => words.some((word) => readFileSync(file).includes(word)));

async function expectSuccess(reply: Promise<Reply>): Promise<Reply["body"]> {
  const { status, text, body } = await reply;
  expect(status, text).toBeLessThan(300);
  return body;
}

const erase = (change_id: string) => expectSuccess(api.post("erase", { change_id, actor: "dpo", note: "asked for" }));

/** Sends requests whose results may be stored with content of the change: a dry run under a key, a chat message, and a task. */
async function createCopies(change_id: string): Promise<void> {
  await expectSuccess(api.post("apply", { change_id, dry_run: "true" }, { "idempotency-key": "rehearsed" }));
  await expectSuccess(
    api.send(new Request(`${api.origin}/api/chat`, { method: "POST", body: `message=what+about+${change_id}` })),
  );
  const task = new URLSearchParams({ title: "report", required_dimension: "M" });
  await expectSuccess(api.send(new Request(`${api.origin}/api/tasks`, { method: "POST", body: task })));
}

test("no file has erased content of a denied change", async () => {
  const { change_id } = await expectSuccess(
    api.post(
      "propose",
      { tenant_id: "t1", kind: "config", target: "ui.banner", ...SECRET },
      { "idempotency-key": "proposed" },
    ),
  );
  await createCopies(change_id);
  await expectSuccess(api.post("deny", { change_id, approver: "bo", note: "no" }, { "idempotency-key": "denied" }));
  for (let round = 0; round < 3; round++) await running.cycle();
  await expectSuccess(
    api.send(new Request(`${api.origin}/api/action/run-now`, { method: "POST", body: "action=write_report" })),
  );
  expect(readFileSync(join(folder, "evolved/report-2026-W01.md"), "utf8")).toContain(SUMMARY);
  expect(existsSync(join(folder, `evolved/retrospective-${change_id}.md`))).toBe(true);
  // The store, and the reports about the week and the change.
  expect(
    findFilesWith()
      .map((file) => file.slice(folder.length + 1).split("/")[0])
      .sort(),
  ).toEqual(["data", "evolved", "evolved"]);

  const erased = await erase(change_id);
  expect(erased.change).toMatchObject({
    summary: "erased",
    rationale: "erased",
    affected_users: null,
    status: "denied",
  });
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  await running.cycle();
  expect(findFilesWith()).toEqual([]);

  expect(readFileSync(join(folder, `evolved/retrospective-${change_id}.md`), "utf8")).toContain("summary: “erased”");
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
  const repeated = await api.post(
    "propose",
    { tenant_id: "t1", kind: "config", target: "ui.banner", ...SECRET },
    { "idempotency-key": "proposed" },
  );
  expect(repeated).toMatchObject({ status: 201, body: { change_id, summary: "erased" } });
  expect(repeated.headers.get("idempotency-replayed")).toBe("true");
  await running.close();
  expect(findFilesWith()).toEqual([]);
  await start();
  expect((await api.get(`changes/${change_id}`)).body).toMatchObject({
    summary: "erased",
    digest: erased.change.digest,
  });
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("no file has erased content of a rolled back change whose value a later change replaced", async () => {
  const first = await api.bring("applied", SECRET);
  const second = await api.bring("applied", { summary: "later", value: '"later"' });
  expect(await api.post("erase", { change_id: first, actor: "dpo" })).toMatchObject({
    status: 409,
    body: { code: "content_needed" },
  });
  await expectSuccess(api.act("rollback", first));
  await expectSuccess(api.post("rollback", { change_id: second, dry_run: "true" }));
  const { stays: remaining } = await erase(first);
  await running.cycle();
  expect(findFilesWith()).toEqual([]);
  const { audit_entries } = (await api.get(`changes/${second}`)).body;
  const digest = sha256(canonicalJson(JSON.parse(SECRET.value)));
  expect(audit_entries.some(({ detail }: { detail: string }) => JSON.parse(detail).previous_digest === digest)).toBe(
    true,
  );
  expect(remaining.join("\n")).toContain("the digest of its value in the entry of the change that replaced it");
  await expectSuccess(api.act("rollback", second));
  expect(JSON.parse(readFileSync(join(folder, "product_config.json"), "utf8")).values).toEqual({});
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("copies stored later are erased by a second sweep; files are compacted at most twice a day", async () => {
  const ids = [await api.bring("denied", SECRET), await api.bring("denied", SECRET)];
  await erase(ids[0]!);
  await running.cycle();
  const { store } = running.deps;
  await store.transact((tx) =>
    tx.put("tasks", "late", { task: { result: `${ids[0]} ${RATIONALE}` } as never, attempts: 1 } as never),
  );
  await erase(ids[1]!);
  await running.cycle();
  // The second sweep is due ten minutes after the first, and the next compaction twelve hours after the last.
  clock.advance(11 * 60 * SECOND);
  await running.cycle();
  expect((await store.get("tasks", "late"))?.value.task.result).toBe(
    "This report was erased: it described a change whose content was erased.",
  );
  expect(findFilesWith().length).toBeGreaterThan(0);
  clock.advance(13 * HOUR);
  await running.cycle();
  expect(findFilesWith()).toEqual([]);
  expect(await store.list("erasures_due", { limit: 1 })).toEqual([]);
});

test("no file has erased content if the last erasure and compaction have times in the future", async () => {
  clock.shift(90 * 24 * HOUR);
  await erase(await api.bring("denied"));
  await running.cycle();
  clock.advance(11 * 60 * SECOND);
  await running.cycle();
  await erase(await api.bring("denied", SECRET));
  clock.shift(-90 * 24 * HOUR);
  await expectSuccess(api.post("audit/accept-clock", { actor: "ops" }));
  await erase(await api.bring("denied", SECRET));
  for (const hours of [0, 1, 13]) {
    clock.advance(hours * HOUR);
    await running.cycle();
  }
  expect(findFilesWith()).toEqual([]);
  expect(await running.deps.store.list("erasures_due", { limit: 1 })).toEqual([]);
});
