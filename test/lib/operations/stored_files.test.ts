/** Self-evolution files in the store, for hosts without a disk, read over the endpoints. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { evolvedFile } from "../../../handlers/evolved_file.ts";
import { evolved } from "../../../handlers/evolved.ts";
import { createStoredFiles } from "../../../lib/operations/stored_files.ts";
import { openDeps } from "../../support/deps.ts";

/** Opens files in a store, with functions that read them over the endpoints. */
async function openFiles() {
  const deps = await openDeps({});
  const files = createStoredFiles(deps);
  const ask = (path: string) => {
    const handler = path === "/api/evolved" ? evolved : evolvedFile;
    return handler({ ...deps, evolved: files })(new Request(`http://127.0.0.1:8420${path}`));
  };
  const list = async () => ((await (await ask("/api/evolved")).json()) as { files: { name: string }[] }).files;
  return { ...deps, files, ask, list, names: async () => (await list()).map(({ name }) => name) };
}

test("without files the list is empty, and a file is not found", async () => {
  const { list, ask } = await openFiles();
  expect(await list()).toEqual([]);
  expect((await ask("/api/evolved/report-2026-W01.md")).status).toBe(404);
});

test("files are listed with size, hash and kind, newest first, also by another instance", async () => {
  const { files, list, ask, clock, store, sha256 } = await openFiles();
  for (const [name, text] of [
    ["retrospective-chg_1.md", "één\n"],
    ["report-2026-W01.md", "week"],
    ["report-2026-W01.svg", "<svg/>"],
    ["notes.txt", "x"],
  ] as const) {
    await files.write(name, text);
    clock.advance(1000);
  }
  const listed = await list();
  expect(listed.map(({ name, kind }: Record<string, string>) => [name, kind])).toEqual([
    ["notes.txt", "other"],
    ["report-2026-W01.svg", "other"],
    ["report-2026-W01.md", "report"],
    ["retrospective-chg_1.md", "retrospective"],
  ]);
  expect(listed[3]).toEqual({
    name: "retrospective-chg_1.md",
    bytes: 6,
    sha256: createHash("sha256").update("één\n").digest("hex"),
    modified_at: new Date(clock.now() - 4000).toISOString(),
    kind: "retrospective",
  });
  const answer = await ask("/api/evolved/retrospective-chg_1.md");
  expect([answer.headers.get("content-type"), await answer.text()]).toEqual(["text/markdown; charset=utf-8", "één\n"]);
  expect(await createStoredFiles({ store, clock, sha256 }).read("notes.txt")).toBe("x");
});

test("a file is replaced completely, and is then the newest", async () => {
  const { files, names, clock } = await openFiles();
  await files.write("report-2026-W01.md", "a longer text");
  await files.write("report-2026-W02.md", "");
  clock.advance(1);
  await files.write("report-2026-W01.md", "new");
  expect(await names()).toEqual(["report-2026-W01.md", "report-2026-W02.md"]);
  expect(await files.read("report-2026-W01.md")).toBe("new");
});

test.each(["../secret", ".hidden", "a/b", "", "a".repeat(129)])("the name %j is rejected", async (name) => {
  const { files, list } = await openFiles();
  await expect(files.write(name, "x")).rejects.toThrow("is no name for a self-evolution file");
  expect(await files.read(name)).toBeUndefined();
  expect(await list()).toEqual([]);
});

test("of 501 files the oldest is removed with its text", async () => {
  const { files, names, clock, store } = await openFiles();
  for (let week = 0; week <= 500; week++) {
    await files.write(`report-${week}.md`, `text ${week}`);
    clock.advance(1);
  }
  const remaining = await names();
  expect([remaining.length, remaining[0], remaining.at(-1)]).toEqual([500, "report-500.md", "report-1.md"]);
  expect(await store.get("evolved_texts", "report-0.md")).toBeUndefined();
  expect(await store.list("evolved_texts", { limit: 1000, keysOnly: true })).toHaveLength(500);
});
