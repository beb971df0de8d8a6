/** Compares the list of collections with the sources, projections, erasures and backups. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PROJECTIONS } from "../../../lib/projections/projector.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { createStoredFiles } from "../../../lib/operations/stored_files.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import {
  type CollectionSchema,
  COLLECTIONS,
  META_RECORDS,
  type RecordSchema,
  type Writer,
} from "../../../lib/store/schema.ts";
import type { Collection, Store } from "../../../lib/store/store.ts";
import { openFileStore } from "../../../local/store/file_store.ts";
import { DAY, HOUR } from "../../support/clock.ts";
import { service } from "../../support/service.ts";
import { silentLog } from "../../support/silent_log.ts";

const ROOT = join(import.meta.dirname, "../../..");
const NAMES = Object.keys(COLLECTIONS) as Collection[];
const collectionSchema = (name: Collection): CollectionSchema => COLLECTIONS[name];

const SOURCES = ["lib", "local"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ file: join(folder, file), text: readFileSync(join(ROOT, folder, file), "utf8") })),
);

/** Returns the members that the sources declare in an interface: name and type. */
const declaredMembers = (kind: "Collections" | "Meta"): Record<string, string> =>
  Object.fromEntries(
    SOURCES.flatMap(({ text }) => [...text.matchAll(new RegExp(`^ {2}interface ${kind} \\{(.*?)^ {2}\\}`, "gms"))])
      .flatMap(([, body]) => [...body!.matchAll(/^ {4}(\w+): (.*);$/gm)])
      .map(([, name, type]) => [name!, type!]),
  );

/** Returns the listed types, with `object` replaced by the declared type if that is an unnamed object type. */
const listedTypes = (
  list: Readonly<Record<string, { record: string }>>,
  types: Readonly<Record<string, string>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(list).map(([name, { record }]) => [
      name,
      record === "object" && types[name]?.startsWith("{ ") ? types[name] : record,
    ]),
  );

test("every collection that the sources declare is listed with its record type, and no other", () => {
  const types = { meta: "Singles<Meta>", ...declaredMembers("Collections") };
  expect(types).toEqual(listedTypes(COLLECTIONS, types));
});

test("every single record that the sources declare is listed with its type, and no other", () => {
  const types = declaredMembers("Meta");
  expect(types).toEqual(listedTypes(META_RECORDS, types));
});

test("every listed collection is used by the sources", () => {
  const code = SOURCES.filter(({ file }) => file !== "lib/store/schema.ts").map(({ text }) => text);
  // An index of rows by kind is named after its rows.
  const isUsed = (name: string): boolean =>
    code.some((text) => text.includes(`"${name}"`)) || (name.endsWith("_kinds") && isUsed(name.slice(0, -6)));
  expect(NAMES.filter((name) => !isUsed(name))).toEqual([]);
  expect(Object.keys(META_RECORDS).filter((name) => !isUsed(name))).toEqual([]);
});

/** The source files of each writer. */
const WRITER_SOURCES: Readonly<Record<Exclude<Writer, `projection ${string}`>, RegExp>> = {
  audit: /^lib\/audit\//,
  changes: /^lib\/(?:changes|audit)\//,
  projections: /^lib\/projections\//,
  operations: /^lib\/(?:operations|projections)\/|^lib\/store\/write_proof|^lib\/changes\/erase/,
  chat: /^lib\/(?:chat|memory)\/|^lib\/projections\/memory/,
  link: /^lib\/link\//,
  targets: /^lib\/targets\//,
  "file target": /^local\/targets\/file\.ts$/,
};
const writerSources = (writer: Writer): RegExp =>
  WRITER_SOURCES[(writer.startsWith("projection ") ? "projections" : writer) as keyof typeof WRITER_SOURCES];

test("a collection is written by its declared writer and by erasures only", () => {
  const writes = SOURCES.flatMap(({ file, text }) =>
    [...text.matchAll(/\.(?:put|delete)\(\s*"(\w+)"(?:,\s*"(\w+)")?/g)].map(([, name, id]) => ({ file, name, id })),
  );
  const wrong = writes.filter(({ file, name, id }) => {
    const record: RecordSchema | undefined =
      name === "meta" ? META_RECORDS[id as keyof typeof META_RECORDS] : collectionSchema(name as Collection);
    // The id is a variable in one place: the freeze or the drift check.
    if (!record) return name !== "meta";
    const isSwept = name !== "meta" && collectionSchema(name as Collection).erasure === "sweep";
    return (
      ![record.writer, ...(record.also ?? [])].some((one) => writerSources(one).test(file)) &&
      !(isSwept && file === "lib/operations/erasures.ts")
    );
  });
  expect(writes.length).toBeGreaterThan(100);
  expect(wrong.map(({ file, name, id = "" }) => `${file}: ${name} ${id}`)).toEqual([]);
});

test.each(PROJECTIONS.map((projection) => [projection.name, projection] as const))(
  "the projection %s writes the collections that are listed for it",
  (name, { collections }) => {
    const listed = Object.entries<CollectionSchema>(COLLECTIONS).filter(
      ([, { writer }]) => writer === `projection ${name}`,
    );
    expect([...collections].sort()).toEqual(listed.map(([one]) => one).sort());
  },
);

/** Returns the collections whose records contain a word. */
async function collectionsWith(store: Store, word: string): Promise<string[]> {
  const found = new Set<string>();
  for await (const page of store.bulk!.dump())
    for (const { collection, json } of page) if (json?.text.includes(word)) found.add(collection);
  return [...found].sort();
}

test("texts of a change are stored only in collections from which an erasure removes them", async () => {
  const store = memoryStore();
  // Retrospectives and reports are in the same store.
  const depsOfFiles = (await service({ store, intent: null })).deps;
  const api = await service({ store, evolved: createStoredFiles({ ...depsOfFiles, store }) });
  const word = "wombat";
  const words = { summary: `A ${word}`, rationale: `The ${word} asks`, value: JSON.stringify({ [word]: 1 }) };
  // The answer to a request with a key is stored too.
  const key = { "idempotency-key": "one" };
  const { change_id } = await api.propose({ ...words, kpi: "csat", expected_delta_k: 1 });
  await api.post("/api/chat", { message: "What waits for me?", author: "ana" });
  await api.post("approve", { change_id, approver: "ana" }, key);
  await api.must("apply", change_id);
  await api.must("rollback", change_id);
  const { task_id } = (await api.post("/api/tasks", { title: "What was rolled back?" })).body;
  for (const action of ["run_next_task", "cycle", "write_report"]) await api.post("/api/action/run-now", { action });
  expect(task_id).toBeDefined();
  const before = await collectionsWith(store, word);
  expect(before).toEqual(expect.arrayContaining(["changes", "chat", "evolved_texts", "idempotency"]));
  expect(before.filter((name) => !collectionSchema(name as Collection).erasure)).toEqual([]);
  await api.post("erase", { change_id, actor: "ana" });
  // Copies are removed twice, ten minutes apart or more: until then requests that began before the erasure may write some.
  for (const wait of [0, HOUR, DAY]) {
    api.deps.clock.advance(wait);
    await runCycle(api.deps);
  }
  expect(await collectionsWith(store, word)).toEqual([]);
});

test("a dump of the file store, the source of backups and moves, has every collection", async () => {
  const folder = await mkdtemp(join(tmpdir(), "schema-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openFileStore({ path: join(folder, "state.json"), log: silentLog });
  for (const name of NAMES)
    await store.transact((tx) =>
      tx.put(name, collectionSchema(name).sequence ? "0000000000000001" : "a", { made: name } as never),
    );
  const dumped = new Set<string>();
  for await (const page of store.bulk!.dump()) for (const { collection } of page) dumped.add(collection);
  await store.close();
  expect([...dumped].sort()).toEqual([...NAMES].sort());
  expect(await readdir(folder)).not.toEqual([]);
});
